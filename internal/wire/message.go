package wire

import (
	"strings"

	"github.com/tidwall/gjson"
)

// This file reads the messages of answers, in all the shapes in which servers write text, reasoning and calls.

// addMessage adds the text and the reasoning of a message. Servers write the same reasoning under several keys: the
// first that has some counts, and lists of parts only where no key has a text.
func (d *Delta) addMessage(message gjson.Result) {
	var visible, reasoning, inContent, inDetails []byte
	isThought := false
	for key, value := range fieldsOf(message) {
		switch key {
		case "content":
			visible, inContent = contentIn(value, 0)
		case "reasoning", "reasoning_content", "reasoning_text", "reasoning_summary", "reasoningContent",
			"thinking", "thinking_content", "thought", "thoughts":
			if len(reasoning) == 0 {
				reasoning = allText(value)
			}
			isThought = isThought || key == "thought" && value.Type == gjson.True
		case "reasoning_details", "thinking_blocks", "reasoning_steps": // OpenRouter; LiteLLM; Perplexity
			if len(inDetails) == 0 {
				inDetails = allText(value)
			}
		case "extra_content": // Gemini: {"google":{"thought":true}}
			isThought = isThought || member(value, "google", "thought").Type == gjson.True
		case "refusal":
			d.addText(value.Str)
			d.Refusal = d.Refusal || value.Str != ""
		case "tool_calls":
			for call := range elementsOf(value) {
				d.addCall(member(call, "index"), member(call, "function"))
				d.addCall(member(call, "index"), member(call, "custom"))
			}
		case "function_call":
			d.addCall(gjson.Result{}, value)
		case "usage":
			d.Usage.addAll(value)
		}
	}
	if isThought {
		inContent = append(visible, inContent...)
		visible = nil
	}
	d.Text = append(d.Text, visible...)
	switch {
	case len(reasoning) > 0:
		d.Reasoning = append(d.Reasoning, reasoning...)
	case len(inContent) > 0:
		d.Reasoning = append(d.Reasoning, inContent...)
	default:
		d.Reasoning = append(d.Reasoning, inDetails...)
	}
}

func (d *Delta) addText(text string) { d.Text = append(d.Text, text...) }

// allText returns the visible texts in a content, and then those of thinking.
func allText(value gjson.Result) []byte {
	visible, thinking := contentIn(value, 0)
	return append(visible, thinking...)
}

// contentIn returns the texts in a content: a string, a part, or a list of these. Thinking may be nested in it:
//
//	{"type":"thinking","thinking":[{"type":"text","text":…}]}    Mistral
//	{"type":"reasoning","summary":[{"type":"summary_text","text":…}]}    Databricks
//	{"text":…,"thought":true}    Gemini
//	{"reasoningContent":{"reasoningText":{"text":…}}}    Amazon Bedrock
//
// What is nested deeper than any server nests it is ignored: each level is read once more.
func contentIn(value gjson.Result, depth int) (visible, thinking []byte) {
	const deepest = 6
	switch {
	case depth > deepest:
		return nil, nil
	case value.Type == gjson.String:
		return []byte(value.Str), nil
	}
	for part := range elementsOf(value) {
		text, thought := contentIn(part, depth+1)
		visible = append(visible, text...)
		thinking = append(thinking, thought...)
	}
	isThought := false
	for key, inner := range fieldsOf(value) {
		switch key {
		case "type":
			isThought = isThought || isThoughtType(inner.Str)
		case "text", "content":
			text, thought := contentIn(inner, depth+1)
			visible = append(visible, text...)
			thinking = append(thinking, thought...)
		case "summary", "thinking", "reasoning", "reasoning_content", "reasoningContent", "reasoningText", "think",
			"thought":
			text, thought := contentIn(inner, depth+1)
			thinking = append(thinking, text...)
			thinking = append(thinking, thought...)
			isThought = isThought || key == "thought" && inner.Type == gjson.True
		}
	}
	if isThought {
		return nil, append(visible, thinking...)
	}
	return visible, thinking
}

func isThoughtType(name string) bool {
	return strings.HasPrefix(name, "reasoning") || strings.HasPrefix(name, "think") || strings.HasPrefix(name, "thought")
}
