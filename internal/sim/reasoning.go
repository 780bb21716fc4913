package sim

import "strings"

// codeSentence is what stands before the three code words in a prompt.
const codeSentence = "The code words are: "

// codeWords are the three words of the sentence "The code words are: A B C." (or "A B C and …") if the text holds it and the last 300
// bytes of the text ask for code words; nil otherwise. The first such sentence counts.
func codeWords(texts []string) []string {
	if len(texts) == 0 {
		return nil
	}
	last := texts[len(texts)-1]
	if !strings.Contains(strings.ToLower(last[max(0, len(last)-300):]), "code words") {
		return nil
	}
	for _, text := range texts {
		_, rest, _ := strings.Cut(text, codeSentence)
		sentence, _, ended := strings.Cut(rest[:min(len(rest), 200)], ".")
		if words := strings.Fields(sentence); ended && (len(words) == 3 || len(words) > 3 && words[3] == "and") {
			return words[:3]
		}
	}
	return nil
}

// garbled are other words: each letter and digit is the next one, all else is x.
func garbled(words []string) []string {
	next := func(r rune) rune {
		switch {
		case r >= 'a' && r < 'z', r >= 'A' && r < 'Z', r >= '0' && r < '9':
			return r + 1
		case r == 'z', r == 'Z':
			return r - 25
		case r == '9':
			return '0'
		}
		return 'x'
	}
	var out []string
	for _, word := range words {
		out = append(out, strings.Map(next, word))
	}
	return out
}

// word is token k without the space before it. Reasoning and answer both begin at the first word; the answer says the
// code words in place of its first three.
func (a *answer) word(k int) string {
	if k >= a.reasoning {
		k -= a.reasoning
		if k < len(a.lead) {
			return a.lead[k]
		}
	}
	return answerWords[k%len(answerWords)]
}

// tokenID is the id of token k.
func (a *answer) tokenID(k int) uint32 {
	if a.ends(k) {
		return endID
	}
	return idOf(a.word(k))
}

// tokenIDs are the ids of the tokens [from, to), never nil.
func (a *answer) tokenIDs(from, to int) []uint32 {
	ids := make([]uint32, 0, to-from)
	for k := from; k < to; k++ {
		ids = append(ids, a.tokenID(k))
	}
	return ids
}

// ends reports whether token k is the invisible end of sequence.
func (a *answer) ends(k int) bool { return a.finish == "stop" && k == a.want-1 }

// thoughts is the reasoning that is shown.
func (a *answer) thoughts() string { return a.textOf(a.hidden, a.reasoning) }

// content is the answer without its reasoning.
func (a *answer) content() string { return a.textOf(a.reasoning, a.want) }
