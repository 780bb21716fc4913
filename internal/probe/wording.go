package probe

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Wording is how an answer's text repeats itself. It holds shares and no words, and is measured on the text before
// the first sign of its end, reasoning included: a server that was asked to ignore that end (ignore_eos, min_tokens)
// shows what it generates after it, where honest models loop. At most the first 64 KiB of an answer are measured. The
// zero value is that of an answer without text.
type Wording struct {
	Characters int     // of text; 0: none, and no share has a meaning
	Run        float64 // share of them in the longest run of a token or short phrase that is repeated; 0: none is
	Distinct   float64 // distinct words ÷ words; 1 if the text has no words
	Replaced   float64 // share of the characters that are U+FFFD, or no UTF-8
	oneToken   bool    // see [isOneToken]
}

// measureWording returns the wording of a text.
func measureWording(text []byte) Wording {
	characters := []rune(string(beforeEnd(text)))
	if len(characters) == 0 {
		return Wording{}
	}
	replaced := 0
	for _, c := range characters {
		if c == utf8.RuneError {
			replaced++
		}
	}
	n := float64(len(characters))
	return Wording{
		Characters: len(characters),
		Run:        float64(longestRun(characters)) / n,
		Distinct:   distinctWords(characters),
		Replaced:   float64(replaced) / n,
		oneToken:   isOneToken(characters),
	}
}

// beforeEnd returns what stands before the first sign that the text had ended. Most servers never show such a sign:
// then the rest of a longer answer cannot be told apart. The signs are the texts by which llama.cpp knows the end of a
// generation: special_eog_ids in
// https://github.com/ggml-org/llama.cpp/blob/master/src/llama-vocab.cpp, with that of DeepSeek in its earlier versions.
func beforeEnd(text []byte) []byte {
	signs := []string{
		"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<end_of_turn>", "<|endoftext|>", "</s>",
		"<|eom_id|>", "<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>",
		"<｜end▁of▁sentence｜>",
	}
	for _, sign := range signs {
		at := bytes.Index(text, []byte(sign))
		if at >= 0 {
			text = text[:at]
		}
	}
	return text
}

const (
	longestPhrase = 32 // characters of what is repeated, at most
	leastRepeats  = 3  // of a phrase that make a run: two are no loop
	leastLoop     = 32 // repeats, and tokens, of an answer that is one token again and again
)

// longestRun returns the number of characters in the longest run of one phrase.
func longestRun(text []rune) int {
	longest := 0
	for period := 1; period <= longestPhrase; period++ {
		run := period // that ends before i, and in which each character equals the one a period before
		for i := period; i < len(text); i++ {
			if text[i] != text[i-period] {
				run = period
				continue
			}
			run++
			if run >= leastRepeats*period {
				longest = max(longest, run)
			}
		}
	}
	return longest
}

// isOneToken reports whether the whole text is one token from its first character to its last: at most one word,
// with what surrounds it, at least leastLoop times. All-NaN logits look like this, since every sampler then takes the
// same token: vLLM and SGLang show "!!!!", token 0 of many vocabularies
// (https://github.com/vllm-project/vllm/issues/22881).
func isOneToken(text []rune) bool {
	for period := 1; period <= longestPhrase && period*leastLoop <= len(text); period++ {
		if len(strings.Fields(string(text[:period]))) > 1 {
			return false
		}
		i := period
		for i < len(text) && text[i] == text[i-period] {
			i++
		}
		if i == len(text) {
			return true
		}
	}
	return false
}

// distinctWords returns the share of distinct words. Letters and digits make words; each letter of a script that is
// written without spaces is one.
func distinctWords(text []rune) float64 {
	const longest = 32 // letters: what is longer is more than one word
	distinct := map[string]bool{}
	words, begin := 0, 0
	end := func(i int) {
		if begin < i {
			words++
			distinct[string(text[begin:i])] = true
		}
	}
	for i, c := range text {
		isLetter := unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
		isAlone := unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
			unicode.Khmer, unicode.Myanmar)
		switch {
		case !isLetter:
			end(i)
			begin = i + 1
		case isAlone:
			end(i)
			begin = i
			end(i + 1)
			begin = i + 1
		case i-begin == longest:
			end(i)
			begin = i
		}
	}
	end(len(text))
	if words == 0 {
		return 1
	}
	return float64(len(distinct)) / float64(words)
}

// sane reports whether the text is no loop: half of it is no run.
func (w Wording) sane() bool { return w.Characters > 0 && w.Run < 0.5 }

// isLoop reports whether a whole answer is one token again and again.
func (r *Result) isLoop() bool {
	tokens := max(r.Usage.Generated().N, len(r.Timeline.Frames))
	return r.Wording.oneToken && tokens >= leastLoop
}

// isDegenerate reports whether an answer is a loop where no honest model loops: to our own prompts, as an assistant,
// and after sane answers of the same model. A model that goes on with a bare text may repeat itself, and another prompt
// may ask for it.
func (x *exchange) isDegenerate() bool {
	isAssistant := x.target.Dialect.Operation == "chat"
	return x.result.isLoop() && isAssistant && x.question.Words > 0 && x.question.wasSane
}

// A sanity is how many answers of a model were no loop.
type sanity struct {
	model   string
	answers int // one after another, up to saneAnswers
}

// saneAnswers is how many answers that are no loop a model must have given, one after another, before a loop is a fault
// of its server. A model with random weights loops from its first answer on, and is what it is.
const saneAnswers = 10

// wasSane reports whether the server's model has shown that it can do better than to loop.
func (m *Member) wasSane(model string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sane == sanity{model: model, answers: saneAnswers}
}

// noteWording counts an answer that is no loop. Once there were enough of them, loops are faults, however many.
func (m *Member) noteWording(r *Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Outcome != OK {
		return
	}
	if r.Model != m.sane.model {
		m.sane = sanity{model: r.Model}
	}
	switch {
	case m.sane.answers == saneAnswers:
	case r.Wording.sane():
		m.sane.answers++
	default:
		m.sane.answers = 0
	}
}
