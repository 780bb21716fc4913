package engine

import (
	"errors"
	"fmt"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/prompt"
)

// Off returns by how many tokens prompts are longer than configured. known is false until a server has counted them.
func (j *Job) Off() (tokens int, known bool) { return j.writer.Off() }

// CountedBy returns how the tokens of the prompts were counted, empty if nobody has tried; the target that counted; and
// how many requests, which are recorded nowhere, that took.
func (j *Job) CountedBy() (method CountMethod, target string, requests int) {
	j.length.mu.Lock()
	defer j.length.mu.Unlock()
	return j.length.method, j.Targets[j.length.by].Name, j.length.requests
}

// LengthLine returns a sentence on how long the prompts of member i are, and how that is known.
func (j *Job) LengthLine(i int) string {
	note := j.LengthNote(i)
	method, by, requests := j.CountedBy()
	length := format.Grouped(j.Targets[i].PromptTokens)
	off, known := j.Off()
	switch {
	case note != "" && (!known || off == 0 || by != j.Targets[i].Name):
		return note
	case off != 0:
		return fmt.Sprintf("prompts are off by %+d tokens of %s: the server allows no better", off, length)
	case method == ByTokenizer:
		return fmt.Sprintf("prompts are exactly %s tokens, by the server's tokenizer", length)
	case method == ByUsage:
		return fmt.Sprintf("prompts are exactly %s tokens, by the usage of %s with short answers, "+
			"which are recorded nowhere", length, format.Count(requests, "request"))
	}
	return ""
}

// LengthNote returns what is unusual about the length of the prompts of member i; empty if they are exactly as long as
// configured.
func (j *Job) LengthNote(i int) string {
	if j.Prompts.Workload == prompt.Dataset {
		return ""
	}
	t := j.Targets[i]
	off, known := j.Off()
	method, by, _ := j.CountedBy()
	j.length.mu.Lock()
	why := j.length.why
	uncounted := j.length.uncounted[i]
	j.length.mu.Unlock()
	switch {
	case !known && method == ByEstimate && uncounted:
		return fmt.Sprintf("the server does not count the tokens of prompts: they have about %s, by an estimate",
			format.Grouped(t.PromptTokens))
	case !known && why != nil && !errors.Is(why, errCalibrating):
		return fmt.Sprintf("nothing is measured: the length of the prompts is not known: %v", why)
	case !known && method != "":
		return "nothing is measured: the server counts otherwise than before, and the prompts are calibrated again"
	case !known:
		return "no probes yet: the length of the prompts is being calibrated"
	case by != t.Name:
		return j.otherNote(i, by)
	case off != 0:
		return OffNote(off, t)
	}
	return ""
}

// otherNote returns the note of [Job.LengthNote] for a member whose prompts another target has counted.
func (j *Job) otherNote(i int, by string) string {
	note := "the length of the prompts is exact by the count of " + by
	counted := j.Members[i].Capabilities().Prompt
	if !counted.Known {
		return note
	}
	if counted.N == j.Targets[i].PromptTokens {
		return note + ", and by this server's"
	}
	return fmt.Sprintf("%s; this server counts %s tokens", note, format.Grouped(counted.N))
}

// OffNote returns a sentence that says by how many tokens the prompts of t are longer than configured.
func OffNote(off int, t config.Target) string {
	return fmt.Sprintf("prompts count %+d tokens against the %d asked", off, t.PromptTokens)
}
