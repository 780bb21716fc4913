package sim

import (
	"encoding/json"
)

// defaultCompletion is how many tokens /v1/completions generates when the request does not say.
const defaultCompletion = 16

// completions is POST …/completions: no role frame, prompts as text or, where the kind takes them, as token ids.
type completions struct{ openAI }

func (d completions) read(body []byte, c Config) (ask, *refusal) {
	r, refused := d.parse(body, &d.kind.text, c)
	if refused != nil {
		return d.deny(r, refused)
	}
	p, ok := completionPrompt(r.Prompt)
	switch {
	case len(r.ids) > 0:
		p = prompt{ids: r.ids}
	case !ok:
		return d.deny(r, bad("prompt", "prompt must be a text or a list of token ids, not empty, and only one of them."))
	case len(p.ids) > 0 && !d.kind.ids:
		return ask{}, bad("prompt", "prompt must be a text or a list of texts, got token ids.")
	}
	return d.plan(r, p, r.MaxTokens, defaultCompletion, c)
}

// completionPrompt takes a text, a list of ids, or a list of one of these.
func completionPrompt(raw json.RawMessage) (prompt, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 && raw[0] == '"' {
		return plainPrompt(text), true
	}
	var ids []uint32
	if json.Unmarshal(raw, &ids) == nil && len(ids) > 0 {
		return prompt{ids: ids}, true
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) == 1 {
		return completionPrompt(list[0])
	}
	return prompt{}, false
}

func (d completions) speak(a *answer) script {
	s := newEncoder(a, d.kind, &d.kind.text, "text_completion")
	return s.script(func() any { return completionDocument(s) })
}

// completionDocument is the answer without a stream.
func completionDocument(s *encoder) any {
	type choice struct {
		Index      int     `json:"index"`
		Text       string  `json:"text"`
		Logprobs   *string `json:"logprobs"`
		Finish     string  `json:"finish_reason"`
		StopReason *string `json:"stop_reason"`
	}
	return document[choice]{
		ID: s.id, Object: "text_completion", Created: s.start.Unix(), Model: s.model,
		Choices: []choice{{Text: s.textOf(0, s.want), Finish: s.finish}},
		Usage:   s.fullUsage(),
	}
}
