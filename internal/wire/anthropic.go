package wire

import (
	"maps"
	"strings"

	"github.com/tidwall/gjson"
)

// anthropic is the Messages API of Anthropic, which vLLM, SGLang, llama-server and others serve as well. It has neither
// ignore_eos nor a minimum, so that an answer may end early. Anthropic's own frames carry several tokens each.
var anthropic = &Dialect{
	Name:        "anthropic",
	Operation:   "chat",
	Provider:    "anthropic",
	Path:        v1Path("/messages"),
	Fields:      []Field{FieldTemperature},
	body:        messagesBody,
	read:        readMessages,
	typeInEvent: true,
	keyHeader:   "x-api-key",
	version:     "2023-06-01",
	tokenizer:   Server.messagesTokenizer,
}

func messagesBody(a Ask) body {
	b := streamBody(a)
	b["max_tokens"] = a.MaxTokens
	maps.Copy(b, conversationBody(a))
	return b
}

// conversationBody returns the conversation of a. System messages are not in the list of messages, but in a key of
// their own.
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

// messagesTokenizer returns the route that counts tokens, unless the server only guesses there.
func (s Server) messagesTokenizer() Tokenizer {
	if s.Estimates {
		return Tokenizer{}
	}
	// https://docs.anthropic.com/en/api/messages-count-tokens
	return Tokenizer{
		Path:   s.Prefix + "/v1/messages/count_tokens",
		body:   conversationBody,
		counts: []string{"thinking", "tools", "tool_choice"},
	}
}

func readMessages(frame gjson.Result) Delta {
	var d Delta
	switch member(frame, "type").Str {
	case "message_start": // says output_tokens:1 before there is any
		d.EarlyUsage = true
		d.ID = member(frame, "message", "id").Str
		d.Model = member(frame, "message", "model").Str
		d.Usage.addAll(member(frame, "message", "usage"))
	case "content_block_start":
		d.addBlock(member(frame, "content_block"))
	case "content_block_delta":
		d.addBlock(member(frame, "delta"))
	case "message_delta":
		d.setFinish(member(frame, "delta", "stop_reason"))
		d.Usage.addAll(member(frame, "usage"))
	case "message_stop":
		d.End = true
	}
	return d
}

// addBlock adds the text of a content block, or of a part of one. Signatures and citations have none.
func (d *Delta) addBlock(block gjson.Result) {
	d.Choice = true
	for key, value := range fieldsOf(block) {
		switch key {
		case "text", "partial_json":
			d.addText(value.Str)
		case "thinking", "reasoning", "reasoning_content":
			if len(d.Reasoning) == 0 {
				d.Reasoning = allText(value)
			}
		}
	}
}
