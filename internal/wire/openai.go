package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// request is the body of both OpenAI endpoints: the standard keys, and the
// extensions that vLLM's family of servers knows.
type request struct {
	Model               string         `json:"model,omitempty"`
	Messages            []message      `json:"messages,omitempty"`
	Prompt              string         `json:"prompt,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	MinTokens           int            `json:"min_tokens,omitempty"`
	IgnoreEOS           bool           `json:"ignore_eos,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	Seed                *int           `json:"seed,omitempty"`
	Stream              bool           `json:"stream,omitempty"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	CacheSalt           string         `json:"cache_salt,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type streamOptions struct {
	IncludeUsage    bool `json:"include_usage"`
	ContinuousUsage bool `json:"continuous_usage_stats,omitempty"`
}

// tokenizePath is where vLLM, SGLang and TGI count tokens.
const tokenizePath = "/tokenize"

// counted reads the reply of vLLM's /tokenize.
func counted(reply []byte) (int, bool) {
	var r struct {
		Count *int `json:"count"`
	}
	if json.Unmarshal(reply, &r) != nil || r.Count == nil || *r.Count <= 0 {
		return 0, false
	}
	return *r.Count, true
}

// extensions lists the optional fields of both endpoints.
func extensions() []Field {
	return []Field{
		FieldMinTokens, FieldIgnoreEOS, FieldContinuousUsage, FieldStreamOptions,
		FieldCacheSalt, FieldSeed, FieldTemperature,
	}
}

// newRequest is the part of a request that both endpoints share. Both min_tokens
// and ignore_eos are needed: vLLM masks the end-of-sequence token only until
// min_tokens is reached.
func newRequest(a Ask) request {
	r := request{Model: a.Model, Stream: true}
	if !a.Omits(FieldMinTokens) {
		r.MinTokens = a.MaxTokens
	}
	r.IgnoreEOS = !a.Omits(FieldIgnoreEOS)
	if !a.Omits(FieldTemperature) {
		r.Temperature = new(0.0)
	}
	if !a.Omits(FieldSeed) {
		r.Seed = new(1)
	}
	if !a.Omits(FieldStreamOptions) {
		r.StreamOptions = &streamOptions{IncludeUsage: true, ContinuousUsage: !a.Omits(FieldContinuousUsage)}
	}
	if !a.Omits(FieldCacheSalt) {
		r.CacheSalt = a.CacheSalt
	}
	return r
}

// chunk is one frame of either endpoint's stream. A key that servers spell in
// more than one type is kept raw.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	XGroq   *struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"` // Groq puts usage here, in its last frame
	Timings *timings `json:"timings"` // llama-server, in its last frame
}

type choice struct {
	Delta    delta           `json:"delta"`
	Text     string          `json:"text"` // completions
	Finish   string          `json:"finish_reason"`
	TokenIDs []int           `json:"token_ids"`  // vLLM
	Output   json.RawMessage `json:"output_ids"` // LMDeploy
}

type delta struct {
	Content          json.RawMessage `json:"content"` // a string, or a list of parts
	Reasoning        string          `json:"reasoning"`
	ReasoningContent string          `json:"reasoning_content"`
	Refusal          string          `json:"refusal"`
	ToolCalls        []toolCall      `json:"tool_calls"`
	FunctionCall     *function       `json:"function_call"`
}

type toolCall struct {
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type usage struct {
	Prompt     *int `json:"prompt_tokens"`
	Completion *int `json:"completion_tokens"`
	Total      *int `json:"total_tokens"`
	Reasoning  *int `json:"reasoning_tokens"` // SGLang writes it flat
	CacheHit   *int `json:"prompt_cache_hit_tokens"`
	PromptMore *struct {
		Cached *int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionMore *struct {
		Reasoning *int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// timings are llama-server's own counts. The prompt's length is what it
// evaluated now and what it found in its cache.
type timings struct {
	Cached    *int `json:"cache_n"`
	Evaluated *int `json:"prompt_n"`
	Predicted *int `json:"predicted_n"`
}

// end is the data of the last frame of a stream.
var end = []byte("[DONE]")

// decodeChunk reads a frame of either endpoint.
func decodeChunk(data []byte) (Delta, error) {
	data = bytes.TrimSpace(data)
	if bytes.Equal(data, end) {
		return Delta{Done: true}, nil
	}
	var c chunk
	err := json.Unmarshal(data, &c)
	if failure := errorIn(data); failure != nil {
		d := c.delta()
		d.Err = failure
		return d, nil
	}
	if err != nil {
		return Delta{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return c.delta(), nil
}

// errorIn is [ParseError] for a frame of tokens: most hold no key that could
// be an error's, and are not parsed twice.
func errorIn(data []byte) *ServerError {
	if bytes.Contains(data, []byte(`"choices"`)) && !bytes.Contains(data, []byte(`"error`)) {
		return nil
	}
	return ParseError(data)
}

// delta is what the chunk said. Probes ask for one choice; of several, all
// count as one.
func (c chunk) delta() Delta {
	d := Delta{Choice: len(c.Choices) > 0, Usage: c.usage()}
	for _, choice := range c.Choices {
		d.Text += choice.Text + choice.Delta.visible()
		d.Reasoning += choice.Delta.reasoning()
		d.Refusal = d.Refusal || choice.Delta.Refusal != ""
		d.Tokens += len(choice.TokenIDs) + listLength(choice.Output)
		if choice.Finish != "" {
			d.Finish = choice.Finish
		}
	}
	return d
}

// visible is the delta's output: content, refusal and tool calls.
func (d delta) visible() string {
	text, _ := d.content()
	text += d.Refusal
	for _, call := range d.ToolCalls {
		text += call.Function.Name + call.Function.Arguments
	}
	if d.FunctionCall != nil {
		text += d.FunctionCall.Name + d.FunctionCall.Arguments
	}
	return text
}

// reasoning is the delta's thinking. Servers that write both keys write the
// same text twice.
func (d delta) reasoning() string {
	if d.Reasoning != "" {
		return d.Reasoning
	}
	if d.ReasoningContent != "" {
		return d.ReasoningContent
	}
	_, thinking := d.content()
	return thinking
}

// part is one element of a content list: Mistral's, with thinking nested.
type part struct {
	Text     string          `json:"text"`
	Thinking json.RawMessage `json:"thinking"`
}

// content is the delta's content, whether a string or a list of parts.
func (d delta) content() (visible, thinking string) {
	if !present(d.Content) {
		return "", ""
	}
	if d.Content[0] == '"' {
		return unquote(d.Content), ""
	}
	var parts []part
	if json.Unmarshal(d.Content, &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		visible += p.Text
		thinking += p.thinking()
	}
	return visible, thinking
}

// thinking is the part's thinking: a string, or a list of parts.
func (p part) thinking() string {
	if !present(p.Thinking) {
		return ""
	}
	var inner []part
	if json.Unmarshal(p.Thinking, &inner) != nil {
		return unquote(p.Thinking)
	}
	text := ""
	for _, i := range inner {
		text += i.Text
	}
	return text
}

// usage merges the counts of every place that a server may put them.
func (c chunk) usage() Usage {
	u := c.Usage.counts()
	if c.XGroq != nil {
		u = u.Merge(c.XGroq.Usage.counts())
	}
	if t := c.Timings; t != nil {
		u = u.Merge(Usage{Cached: count(t.Cached), Output: count(t.Predicted), Prompt: sum(t.Cached, t.Evaluated)})
	}
	return u
}

func (u *usage) counts() Usage {
	if u == nil {
		return Usage{}
	}
	counts := Usage{
		Prompt: count(u.Prompt), Output: count(u.Completion), Total: count(u.Total),
		Reasoning: count(u.Reasoning), Cached: count(u.CacheHit),
	}
	if u.PromptMore != nil {
		counts.Cached = counts.Cached.larger(count(u.PromptMore.Cached))
	}
	if u.CompletionMore != nil {
		counts.Reasoning = counts.Reasoning.larger(count(u.CompletionMore.Reasoning))
	}
	return counts
}

func count(n *int) Count {
	if n == nil {
		return Count{}
	}
	return Tokens(*n)
}

func sum(a, b *int) Count {
	if a == nil || b == nil {
		return Count{}
	}
	return Tokens(*a + *b)
}

// listLength is the number of elements of a JSON list; 0 for anything else.
func listLength(raw json.RawMessage) int {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return 0
	}
	return len(list)
}
