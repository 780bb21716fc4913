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
