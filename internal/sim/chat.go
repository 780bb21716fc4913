package sim

import (
	"encoding/json"
	"strings"
)

// chat is POST …/chat/completions.
type chat struct{ openAI }

func (d chat) read(body []byte, c Config) (ask, *refusal) {
	r, refused := d.parse(body, &d.kind.chat, c)
	if refused != nil {
		return d.deny(r, refused)
	}
	if len(r.Messages) == 0 && len(r.ids) == 0 {
		return d.deny(r, bad("messages", "Field required: messages, a list of at least one message."))
	}
	p := chatPrompt(texts(r.Messages))
	if len(r.ids) > 0 {
		p = prompt{ids: r.ids}
	}
	limit := r.MaxCompletionTokens
	if limit == nil {
		limit = r.MaxTokens
	}
	q, refused := d.plan(r, p, limit, 0, c)
	if how := r.how; how.thought != "" || how.secret {
		q.reasoning, q.secret = c.Reasoning, how.secret
	}
	return q, refused
}

func (d chat) speak(a *answer) script {
	s := newEncoder(a, d.kind, &d.kind.chat, "chat.completion.chunk")
	return s.script(func() any { return chatDocument(s) })
}

// chatDocument is the answer without a stream.
func chatDocument(s *encoder) any {
	type reply struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		Reasoning string `json:"reasoning,omitempty"`
		Older     string `json:"reasoning_content,omitempty"`
	}
	type choice struct {
		Index      int     `json:"index"`
		Message    reply   `json:"message"`
		Logprobs   *string `json:"logprobs"`
		Finish     string  `json:"finish_reason"`
		StopReason *string `json:"stop_reason"`
	}
	said := reply{Role: "assistant", Content: s.content()}
	if strings.Contains(s.how.thought, `"reasoning_content"`) {
		said.Older = s.thoughts()
	} else {
		said.Reasoning = s.thoughts()
	}
	return document[choice]{
		ID: s.id, Object: "chat.completion", Created: s.start.Unix(), Model: s.model,
		Choices: []choice{{Message: said, Finish: s.finish}},
		Usage:   s.fullUsage(),
	}
}

// document is an OpenAI answer without a stream.
type document[Choice any] struct {
	ID      string          `json:"id"`
	Object  string          `json:"object"`
	Created int64           `json:"created"`
	Model   string          `json:"model"`
	Choices []Choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
}

// fullUsage is the whole count as a document has it.
func (s *encoder) fullUsage() json.RawMessage { return json.RawMessage(s.countOf(s.how.usage, s.want)) }

// texts are the contents of messages, in order.
func texts(messages []message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, string(m.Content))
	}
	return out
}
