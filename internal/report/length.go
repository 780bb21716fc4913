package report

import (
	"fmt"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/length"
)

// LengthNote returns what is unusual about the length of prompts; empty if the server itself counts as many tokens as
// asked.
func LengthNote(s length.Snapshot) string {
	asked := format.Grouped(s.Asked)
	switch {
	case s.Asked == 0:
		return ""
	case s.Exact && !s.ByItself && !s.Counted.Known:
		return fmt.Sprintf("%s counted the tokens of the prompts; how many this server counts is not known yet", s.By)
	case s.Exact && !s.ByItself && s.Counted.N != s.Asked:
		return fmt.Sprintf("the prompts have %s tokens as %s counts them, and %s as this server does",
			asked, s.By, format.Grouped(s.Counted.N))
	case s.Exact && s.ByItself && s.Off != 0:
		return fmt.Sprintf("prompts are off by %+d tokens of %s: the server allows no better", s.Off, asked)
	case s.Exact:
		return ""
	case s.Estimated:
		return fmt.Sprintf("the server does not count the tokens of prompts: they have about %s, by an estimate", asked)
	case s.Failure != nil:
		return fmt.Sprintf("nothing is measured: the length of the prompts is not known: %v", s.Failure)
	case s.Method != "": // there was a count, and an answer has contradicted it
		return "nothing is measured: the server counts otherwise than before, and the prompts are calibrated again"
	}
	return "no probes yet: the length of the prompts is being calibrated"
}

// LengthLine returns a sentence on how long prompts are, and how that is known. It is empty if each has a length of its
// own.
func LengthLine(s length.Snapshot) string {
	asked := format.Grouped(s.Asked)
	switch {
	case s.Exact && s.ByItself && s.Off == 0 && s.Method == length.ByTokenizer:
		return fmt.Sprintf("prompts are exactly %s tokens, by the server's tokenizer", asked)
	case s.Exact && s.ByItself && s.Off == 0 && s.Method == length.ByUsage:
		return fmt.Sprintf("prompts are exactly %s tokens, by the usage of %s with short answers, "+
			"which are recorded nowhere", asked, format.Count(s.Requests, "request"))
	case s.Exact && s.Counted.Known && s.Counted.N == s.Asked:
		return fmt.Sprintf("prompts are exactly %s tokens, as %s and this server count them", asked, s.By)
	}
	return LengthNote(s)
}
