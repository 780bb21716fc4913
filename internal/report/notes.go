package report

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/wire"
)

// A TargetState is what the notes on a target are made of: how it is configured, and how it stands at one moment.
type TargetState struct {
	Lengths  Lengths
	Server   server.Knowledge
	Disabled bool       // in the configuration
	Skipping probe.Skip // why its slots are skipped now; empty if they are not
	Places   Places     // where its settings are written
	Length   length.Snapshot
}

// Notes returns what a reader should know of a target, one sentence each: what is unusual about its server, what does
// not fit, and why nothing is measured.
func (s TargetState) Notes() []string {
	notes := ServerNotes(s.Server, s.Places)
	misfit := s.Lengths.Misfit(s.Server.Limits, s.Places)
	for _, note := range []string{misfit, s.probingNote()} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// probingNote returns why no probe starts, or else what is unusual about the length of the prompts; empty if there is
// nothing to say.
func (s TargetState) probingNote() string {
	switch {
	case s.Disabled:
		return "disabled in the configuration (enabled: off): no probes start"
	case s.Skipping == probe.SkipDraining:
		return "draining (/-/drain): no probes start"
	case s.Skipping == probe.SkipWaiting:
		return "the server is not ready yet: probes start when it is"
	case s.Skipping == probe.SkipStuck:
		return "requests to this server do not return at their limit and hang the HTTP client: no probe starts until they do"
	}
	return LengthNote(s.Length)
}

// SkipReason returns why a target was not probed although somebody asked for it, in words that follow a colon.
func SkipReason(reason probe.Skip) string {
	switch reason {
	case probe.SkipBudget:
		return length.ErrBudget.Error()
	case probe.SkipWaiting:
		return "the length of its prompts is not known"
	}
	return string(reason)
}

// ServerNotes returns what is unusual about a server, one sentence each. What is as it should be is among its
// abilities.
func ServerNotes(k server.Knowledge, places Places) []string {
	var notes []string
	if k.Type.Note != "" {
		notes = append(notes, k.Type.Note)
	}
	if k.OnDemand {
		notes = append(notes, "loads models on demand: one that is not in memory is loaded within the first probe's TTFT, "+
			"and may push out another")
	}
	if k.Model == server.UnnamedModel {
		notes = append(notes, "lists its model as \""+server.UnnamedModel+"\", which its workers may not accept: name it "+
			"("+places.Of("model")+")")
	}
	for _, f := range k.Omit {
		notes = append(notes, fmt.Sprintf("rejects the field %s: asked without it", f))
	}
	if k.Unlimited {
		notes = append(notes, "ignores the limit of an answer's length: probes are canceled once more tokens than asked "+
			"have arrived")
	}
	if k.LeavesOpen {
		notes = append(notes, LeavesOpen)
	}
	return notes
}

// LeavesOpen is the note on a server whose connections serve one answer each.
const LeavesOpen = "keeps its connections open after the end of answers: none of them can be used again " +
	"(connection: reuse)"

// Lengths are those of a target's prompts and answers in tokens, as they are configured.
type Lengths struct {
	Prompt  int // of the first prompt of a session, and of every other prompt
	Longest int // of the longest prompt; 0: each has a length of its own
	Answer  int
}

// Misfit returns a sentence if prompt and answer do not fit a server's limits, with the length that does. It is empty
// if they fit, or if the limits are not known.
func (l Lengths) Misfit(limits wire.Limits, places Places) string {
	const leastPrompt = 16 // tokens: the shortest that can be configured
	if l.Longest == 0 {
		return ""
	}
	var beyondContext, beyondInput int // tokens above the limit; positive if there are too many
	if limits.Context > 0 {
		beyondContext = l.Longest + l.Answer - limits.Context
	}
	if limits.Input > 0 {
		beyondInput = l.Longest - limits.Input
	}

	var text string
	switch {
	case beyondContext > 0:
		text = fmt.Sprintf("a prompt of %s tokens and an answer of %s do not fit the server's context of %s: ",
			format.Grouped(l.Longest), format.Grouped(l.Answer), format.Grouped(limits.Context))
	case beyondInput > 0:
		text = fmt.Sprintf("a prompt of %s tokens is longer than the %s that the server takes: ",
			format.Grouped(l.Longest), format.Grouped(limits.Input))
	default:
		return ""
	}
	fits := l.Prompt - max(beyondContext, beyondInput)
	if fits >= leastPrompt {
		return text + fmt.Sprintf("one of %d is the longest that fits (%s)", fits, places.Of("prompt_tokens"))
	}
	return text + fmt.Sprintf("the answer leaves no room for a prompt (%s)", places.Of("max_tokens"))
}

// AnswerInPieces returns what happens to answers of that many tokens if the server generates long answers in pieces,
// and what to do about it. Both are empty if the server does not do so, or if the answers are short.
func AnswerInPieces(answer int, s wire.Server, places Places) (text, hint string) {
	piece := s.PieceTokens
	if piece == 0 || answer <= piece {
		return "", ""
	}
	each := format.Grouped(piece)
	gap := fmt.Sprintf("each piece begins with a prefill of its own, so that a gap as long as TTFT follows "+
		"each %s tokens", each)
	pieces := fmt.Sprintf("the server generates answers of more than %s tokens in pieces of %s: ", each, each)
	if answer%piece == 0 {
		return pieces + gap, ""
	}
	shorter := answer / piece * piece
	longer := shorter + piece
	text = fmt.Sprintf("%san answer of %s would become %s, and is wrong_length; %s",
		pieces, format.Grouped(answer), format.Grouped(longer), gap)
	hint = fmt.Sprintf("it can be held to answers of %d and %d tokens (%s)", shorter, longer, places.Of("max_tokens"))
	return text, hint
}

// SkippedSlots returns a sentence on how many slots are skipped if a probe takes so long, and which rate would skip
// none. It is empty if none is skipped.
func SkippedSlots(took, interval time.Duration, maxInFlight int, places Places) string {
	needed, probedShare := schedule.Overlap(took, interval, maxInFlight)
	if needed <= maxInFlight {
		return ""
	}
	rate := math.Floor(1000*float64(maxInFlight)/took.Seconds()) / 1000
	return fmt.Sprintf("a probe took %s and one is due every %s, with at most %d at a time: "+
		"about %.0f%% of the slots are skipped; %v is the highest rate that skips none (%s), or allow %d at a time (%s)",
		format.Duration(took), format.Short(interval.Seconds()), maxInFlight, 100*(1-probedShare),
		rate, places.Of("qps"), needed, places.Of("max_in_flight"))
}

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
