package sim

import (
	"encoding/json"
	"fmt"
)

// defaultCompletion is how many tokens /v1/completions generates when the request does not say.
const defaultCompletion = 16

// completions is POST /v1/completions in vLLM's spelling: no role frame, prompts as text or as token ids.
type completions struct{ openAI }

func (d completions) read(body []byte, c Config) (ask, *refusal) {
	r, refused := d.parse(body, c)
	if refused != nil {
		return ask{}, refused
	}
	p, ok := completionPrompt(r.Prompt)
	if !ok {
		return ask{}, bad("prompt", "prompt must be a text or a list of token ids, not empty, and only one of them.")
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

func (completions) speak(a *answer) script {
	id := "cmpl-" + a.requestID()
	choice := func(from, to int) string {
		end := a.endOf(to)
		if to < a.want {
			end += `,"stop_reason":null`
		}
		return fmt.Sprintf(`{"index":0,"text":%s,"logprobs":null,%s}`, mustJSON(a.textOf(from, to)), end)
	}
	whole := func() any { return completionDocument(a, id) }
	return openAIScript(a, id, "text_completion", "", choice, whole)
}

// completionDocument is the answer without a stream.
func completionDocument(a *answer, id string) any {
	type choice struct {
		Index      int     `json:"index"`
		Text       string  `json:"text"`
		Logprobs   *string `json:"logprobs"`
		Finish     string  `json:"finish_reason"`
		StopReason *string `json:"stop_reason"`
	}
	return document[choice]{
		ID: id, Object: "text_completion", Created: a.start.Unix(), Model: a.model,
		Choices: []choice{{Text: a.textOf(0, a.want), Finish: a.finish}},
		Usage:   a.fullUsage(),
	}
}
