package wire

import (
	"maps"
	"strings"
)

// anthropic is the Messages API of Anthropic, which vLLM, SGLang, llama-server and others serve as well. It has
// no ignore_eos and no minimum, so an answer may end early; its frames carry many tokens each.
var anthropic = &Dialect{
	Name: "anthropic", Path: v1("/messages"), read: readEvent, keyHeader: "x-api-key", version: "2023-06-01",
	Fields: []Field{FieldTemperature},
	body: func(a Ask) body {
		b := openAIBody(a)
		b["max_tokens"] = a.MaxTokens
		maps.Copy(b, conversationBody(a))
		return b
	},
	tokenizer: func(s Server) Tokenizer {
		if s.Estimates {
			return Tokenizer{}
		}
		return Tokenizer{Path: s.Prefix + "/v1/messages/count_tokens", body: conversationBody}
	},
}

// conversationBody is the conversation of a: what the system says stands apart.
func conversationBody(a Ask) body {
	var system []string
	var turns []Turn
	for _, t := range a.conversation() {
		if t.Role == "system" {
			system = append(system, t.Text)
		} else {
			turns = append(turns, t)
		}
	}
	b := body{"model": a.Model, "messages": turns}
	if system != nil {
		b["system"] = strings.Join(system, "\n\n")
	}
	return b
}

func readEvent(frame []byte) (d Delta) {
	switch string(textIn(member(frame, "type"))) {
	case "message_start": // says output_tokens:1 before there is any
		d.Early = true
		d.Usage = messagesUsage(member(member(frame, "message"), "usage"))
	case "content_block_start":
		d.addBlock(member(frame, "content_block"))
	case "content_block_delta":
		d.addBlock(member(frame, "delta"))
	case "message_delta":
		d.finish(textIn(member(member(frame, "delta"), "stop_reason")))
		d.Usage = messagesUsage(member(frame, "usage"))
	}
	return d
}

// addBlock adds the text of a content block, or of its growth. Signatures and citations are none.
func (d *Delta) addBlock(block []byte) {
	d.Choice, d.Reasoning = true, textIn(member(block, "thinking"))
	d.Text = join(textIn(member(block, "text")), textIn(member(block, "partial_json")))
}

// messagesUsage reads a usage object of the Messages API. Its input_tokens are those that no cache read or wrote.
func messagesUsage(value []byte) (u Usage) {
	fields(value, u.add)
	if u.Prompt.Known {
		u.Prompt.N = min(maxCount, u.Prompt.N+u.Cached.N+detail(value, "cache_creation_input_tokens").N)
	}
	return u
}
