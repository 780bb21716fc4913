package engine

import (
	"errors"
	"fmt"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/prompt"
)

// Off returns by how many tokens prompts are longer than configured. known is false until they were counted.
func (j *Job) Off() (tokens int, known bool) { return j.writer.Off() }

// Means returns what made the prompts as long as they are; it is empty while they are not. by is the target whose count
// it was, and requests is how many requests that are recorded nowhere it took.
func (j *Job) Means() (means Means, by string, requests int) {
	j.length.mu.Lock()
	defer j.length.mu.Unlock()
	return j.length.means, j.Targets[j.length.by].Name, j.length.requests
}

// LengthLine returns a sentence on how long the prompts of member i are, and what made them so.
func (j *Job) LengthLine(i int) string {
	note := j.LengthNote(i)
	means, by, requests := j.Means()
	length := format.Grouped(j.Targets[i].PromptTokens)
	off, known := j.Off()
	switch {
	case note != "" && (!known || off == 0 || by != j.Targets[i].Name):
		return note
	case off != 0:
		return fmt.Sprintf("prompts are off by %+d tokens of %s: the server allows no better", off, length)
	case means == ByTokenizer:
		return fmt.Sprintf("prompts are exactly %s tokens, by the server's tokenizer", length)
	case means == ByUsage:
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
	means, by, _ := j.Means()
	j.length.mu.Lock()
	why := j.length.why
	uncounted := j.length.uncounted[i]
	j.length.mu.Unlock()
	switch {
	case !known && means == ByEstimate && uncounted:
		return fmt.Sprintf("the server does not count the tokens of prompts: they have about %s, by an estimate",
			format.Grouped(t.PromptTokens))
	case !known && why != nil && !errors.Is(why, errCalibrating):
		return fmt.Sprintf("slots without a probe: the length of the prompts is not known: %v", why)
	case !known && means != "":
		return "slots without a probe: the server counts otherwise than before, prompts are calibrated again"
	case !known:
		return "no probes yet: the length of the prompts is being calibrated"
	case by != t.Name:
		return j.otherNote(i, by)
	case off != 0:
		return OffNote(off, t)
	}
	return ""
}

// otherNote returns the note of [Job.LengthNote] for a member that gets prompts whose length another one counted.
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

// OffNote returns a sentence on by how many tokens the prompts of t are longer than configured.
func OffNote(off int, t config.Target) string {
	return fmt.Sprintf("prompts count %+d tokens against the %d asked", off, t.PromptTokens)
}
