package engine

import (
	"errors"

	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/report"
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

// Length returns what is known now about the length of the prompts of member i.
func (j *Job) Length(i int) report.Length {
	off, known := j.Off()
	l := report.Length{Known: known, Off: off, Counted: j.Members[i].Knowledge().Prompt}
	if j.Prompts.Workload != prompt.Dataset {
		l.Asked = j.Targets[i].PromptTokens
	}
	j.length.mu.Lock()
	defer j.length.mu.Unlock()
	l.Method = string(j.length.method)
	l.By = j.Targets[j.length.by].Name
	l.ByItself = j.length.by == i
	l.Requests = j.length.requests
	l.Estimated = j.length.uncounted[i]
	if !errors.Is(j.length.why, errCalibrating) {
		l.Why = j.length.why
	}
	return l
}
