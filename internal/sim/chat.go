package sim

import "fmt"

// chat is POST /v1/chat/completions in vLLM's spelling.
type chat struct{ openAI }

func (d chat) read(body []byte, c Config) (ask, *refusal) {
	r, refused := d.parse(body, c)
	if refused != nil {
		return ask{}, refused
	}
	if len(r.Messages) == 0 {
		return ask{}, bad("messages", "Field required: messages, a list of at least one message.")
	}
	limit := r.MaxCompletionTokens
	if limit == nil {
		limit = r.MaxTokens
	}
	q, refused := d.plan(r, chatPrompt(texts(r.Messages)), limit, 0, c)
	q.reasoning = c.Reasoning
	return q, refused
}

func (chat) speak(a *answer) script {
	id := "chatcmpl-" + a.requestID()
	opening := `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`
	choice := func(from, to int) string {
		return fmt.Sprintf(`{"index":0,"delta":%s,"logprobs":null,%s}`, a.delta(from, to), a.endOf(to))
	}
	whole := func() any { return chatDocument(a, id) }
	return openAIScript(a, id, "chat.completion.chunk", opening, choice, whole)
}

// chatDocument is the answer without a stream.
func chatDocument(a *answer, id string) any {
	type reply struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		Reasoning string `json:"reasoning,omitempty"`
	}
	type choice struct {
		Index      int     `json:"index"`
		Message    reply   `json:"message"`
		Logprobs   *string `json:"logprobs"`
		Finish     string  `json:"finish_reason"`
		StopReason *string `json:"stop_reason"`
	}
	return document[choice]{
		ID: id, Object: "chat.completion", Created: a.start.Unix(), Model: a.model,
		Choices: []choice{{Message: reply{Role: "assistant", Content: a.content(), Reasoning: a.thoughts()}, Finish: a.finish}},
		Usage:   a.fullUsage(),
	}
}

// document is an OpenAI answer without a stream.
type document[Choice any] struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []Choice `json:"choices"`
	Usage   usage    `json:"usage"`
}

// texts are the contents of messages, in order.
func texts(messages []message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, string(m.Content))
	}
	return out
}
