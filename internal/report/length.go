package report

import (
	"fmt"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/wire"
)

// A Length is what is known at one moment about the length of a target's prompts.
type Length struct {
	Asked int // tokens, as configured; 0: each prompt has a length of its own

	Method   string // how they were counted last: tokenizer, usage or estimate; empty if nobody has tried
	By       string // the target that counted
	ByItself bool   // By is the target itself
	Requests int    // with short answers that it took to count

	Known     bool  // a server has counted them
	Off       int   // by how many tokens they are longer than asked, if Known
	Estimated bool  // the server counts nothing, so that an estimate has to do
	Why       error // why the length is not known; nil if it is, or if it is being counted

	Counted wire.Count // the tokens that this target's server counted of its last prompt
}

// Note returns what is unusual about the length of the prompts; empty if they are exactly as long as asked.
func (l Length) Note() string {
	switch {
	case l.Asked == 0:
		return ""
	case l.Known && !l.ByItself:
		return l.noteOfOther()
	case l.Known && l.Off != 0:
		return fmt.Sprintf("prompts count %+d tokens against the %d asked", l.Off, l.Asked)
	case l.Known:
		return ""
	case l.Method == "estimate" && l.Estimated:
		return fmt.Sprintf("the server does not count the tokens of prompts: they have about %s, by an estimate",
			format.Grouped(l.Asked))
	case l.Why != nil:
		return fmt.Sprintf("nothing is measured: the length of the prompts is not known: %v", l.Why)
	case l.Method != "":
		return "nothing is measured: the server counts otherwise than before, and the prompts are calibrated again"
	}
	return "no probes yet: the length of the prompts is being calibrated"
}

// noteOfOther returns the note on prompts that another target has counted.
func (l Length) noteOfOther() string {
	note := "the length of the prompts is exact by the count of " + l.By
	switch {
	case !l.Counted.Known:
		return note
	case l.Counted.N == l.Asked:
		return note + ", and by this server's"
	}
	return fmt.Sprintf("%s; this server counts %s tokens", note, format.Grouped(l.Counted.N))
}

// Line returns a sentence on how long the prompts are, and how that is known. It is empty if each has a length of its
// own.
func (l Length) Line() string {
	asked := format.Grouped(l.Asked)
	switch {
	case l.Known && l.ByItself && l.Off != 0:
		return fmt.Sprintf("prompts are off by %+d tokens of %s: the server allows no better", l.Off, asked)
	case l.Known && l.ByItself && l.Method == "tokenizer":
		return fmt.Sprintf("prompts are exactly %s tokens, by the server's tokenizer", asked)
	case l.Known && l.ByItself && l.Method == "usage":
		return fmt.Sprintf("prompts are exactly %s tokens, by the usage of %s with short answers, "+
			"which are recorded nowhere", asked, format.Count(l.Requests, "request"))
	}
	return l.Note()
}
