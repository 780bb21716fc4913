package report

import (
	"fmt"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/length"
)

// LengthNote returns what is unusual about the length of prompts; empty if they are exactly as long as asked.
func LengthNote(s length.Snapshot) string {
	asked := format.Grouped(s.Asked)
	switch {
	case s.Asked == 0:
		return ""
	case s.Exact && !s.ByItself:
		return countedByAnother(s)
	case s.Exact && s.Off != 0:
		return fmt.Sprintf("prompts count %+d tokens against the %d asked", s.Off, s.Asked)
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

// countedByAnother returns the note on prompts that another target of the group has counted.
func countedByAnother(s length.Snapshot) string {
	note := "the length of the prompts is exact by the count of " + s.By
	switch {
	case !s.Counted.Known:
		return note
	case s.Counted.N == s.Asked:
		return note + ", and by this server's"
	}
	return fmt.Sprintf("%s; this server counts %s tokens", note, format.Grouped(s.Counted.N))
}

// LengthLine returns a sentence on how long prompts are, and how that is known. It is empty if each has a length of its
// own.
func LengthLine(s length.Snapshot) string {
	asked := format.Grouped(s.Asked)
	switch {
	case s.Exact && s.ByItself && s.Off != 0:
		return fmt.Sprintf("prompts are off by %+d tokens of %s: the server allows no better", s.Off, asked)
	case s.Exact && s.ByItself && s.Method == length.ByTokenizer:
		return fmt.Sprintf("prompts are exactly %s tokens, by the server's tokenizer", asked)
	case s.Exact && s.ByItself && s.Method == length.ByUsage:
		return fmt.Sprintf("prompts are exactly %s tokens, by the usage of %s with short answers, "+
			"which are recorded nowhere", asked, format.Count(s.Requests, "request"))
	}
	return LengthNote(s)
}
