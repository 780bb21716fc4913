package engine

import (
	"fmt"

	"github.com/llm-prober/prober/internal/probe"
)

// Notes returns what is unusual about a server, one sentence each, for the page and for check. What is as it should be
// is among the abilities of the server.
func Notes(c probe.Capabilities) []string {
	var notes []string
	if c.Server.Note != "" {
		notes = append(notes, c.Server.Note)
	}
	if c.OnDemand {
		notes = append(notes, "loads models on demand: one that is not in memory is loaded within the first probe's TTFT, "+
			"and may push out another")
	}
	if c.Model == probe.UnnamedModel {
		notes = append(notes, "lists its model as \""+probe.UnnamedModel+"\", which its workers may not accept: name it "+
			"(PROBER_TARGETS_n_MODEL, --model)")
	}
	for _, f := range c.Omit {
		notes = append(notes, fmt.Sprintf("rejects the field %s: asked without it", f))
	}
	if c.Unlimited {
		notes = append(notes, "ignores the limit of an answer's length: probes are canceled once more tokens than asked "+
			"have arrived")
	}
	if c.LeavesOpen {
		notes = append(notes, leavesOpenNote)
	}
	return notes
}

// leavesOpenNote is logged as well, once for each server.
const leavesOpenNote = "keeps its connections open after the end of answers: none of them can be used again " +
	"(connection: reuse)"
