package wire

import "github.com/tidwall/gjson"

// A Count is a number of tokens that a server may not have reported: unknown is not zero.
type Count struct {
	N     int
	Known bool
}

// Tokens returns a known count of n.
func Tokens(n int) Count { return Count{N: n, Known: true} }

// larger returns the larger of two counts. A known count is larger than an unknown one.
func (c Count) larger(other Count) Count {
	if !c.Known || other.Known && other.N > c.N {
		return other
	}
	return c
}

// Usage is the server's own token counts. All of them grow over one answer.
type Usage struct {
	Prompt    Count // tokens of the prompt with its chat template; some servers leave out Cached and Written
	Cached    Count // tokens of the prompt that came from a prefix cache
	Written   Count // tokens of the prompt that a prefix cache took
	Output    Count // generated tokens, as the server counts them
	Reasoning Count // generated reasoning tokens; some servers do not count them in Output
	Total     Count
}

// Merge returns the larger count of each field. Servers repeat usage, and a later frame may lack what an earlier one
// had.
func (u Usage) Merge(o Usage) Usage {
	return Usage{
		Prompt:    u.Prompt.larger(o.Prompt),
		Cached:    u.Cached.larger(o.Cached),
		Written:   u.Written.larger(o.Written),
		Output:    u.Output.larger(o.Output),
		Reasoning: u.Reasoning.larger(o.Reasoning),
		Total:     u.Total.larger(o.Total),
	}
}

// addAll adds the counts of a usage object, those of its details included.
func (u *Usage) addAll(usage gjson.Result) {
	for key, value := range fieldsOf(usage) {
		switch key {
		case "prompt_tokens_details", "input_tokens_details", "completion_tokens_details", "output_tokens_details":
			for detail, count := range fieldsOf(value) {
				u.add(detail, count)
			}
		default:
			u.add(key, value)
		}
	}
}

// add adds a count under any of the names that servers have for it. Names in camel case are those of Gemini, Amazon
// Bedrock and libraries, which gateways pass on. A count of null stays unknown.
func (u *Usage) add(key string, value gjson.Result) {
	switch key {
	case "prompt_tokens", "input_tokens", "input_length", "prompt_eval_count", "tokens_evaluated",
		"promptTokens", "inputTokens", "promptTokenCount":
		u.Prompt = u.Prompt.larger(countIn(value))
	case "completion_tokens", "output_tokens", "generated_tokens", "eval_count", "tokens_predicted",
		"completionTokens", "outputTokens", "candidatesTokenCount":
		u.Output = u.Output.larger(countIn(value))
	case "total_tokens", "totalTokens", "totalTokenCount":
		u.Total = u.Total.larger(countIn(value))
	case "cached_tokens", "cache_read_input_tokens", "cache_read_tokens",
		"prompt_cache_hit_tokens",  // DeepSeek
		"prompt_eval_cached_count", // Ollama
		"cacheReadInputTokens", "cachedContentTokenCount":
		u.Cached = u.Cached.larger(countIn(value))
	case "cache_creation_input_tokens", "cache_write_input_tokens", "cache_creation_tokens", "cache_write_tokens",
		"cacheWriteInputTokens":
		u.Written = u.Written.larger(countIn(value))
	case "reasoning_tokens", "thinking_tokens", "reasoningTokens", "thoughtsTokenCount":
		u.Reasoning = u.Reasoning.larger(countIn(value))
	}
}

// MaxGenerated is the largest number of generated tokens that is believed.
const MaxGenerated = 1 << 20

// Generated returns the number of generated tokens. It is the larger of two: the output, and the total without the
// prompt. The output counts of xAI and Gemini lack reasoning, but their totals have it. The totals of some gateways
// include tokens that a cache read or wrote, which were not generated. A count above [MaxGenerated] is unknown.
func (u Usage) Generated() Count {
	n := u.Output
	if u.Total.Known && u.Prompt.Known {
		n = n.larger(u.beyondPrompt())
	}
	if n.N > MaxGenerated {
		return Count{}
	}
	return n
}

// beyondPrompt returns the generated tokens in the total. They are what is left of it without the prompt, and without
// what a cache read or wrote if the total has that as well. It has that if the rest then is the output, with or without
// reasoning. Without an output to compare with, the result is unknown if there is a cache that fits.
func (u Usage) beyondPrompt() Count {
	rest := max(0, u.Total.N-u.Prompt.N)
	if u.Reasoning.N > 0 && rest == u.Output.N+u.Reasoning.N { // output and reasoning explain all of it
		return Tokens(rest)
	}
	for _, cache := range []int{u.Cached.N, u.Written.N, u.Cached.N + u.Written.N} {
		if cache == 0 || rest < cache {
			continue
		}
		generated := rest - cache
		hidden := generated - u.Output.N // can only be reasoning
		switch {
		case !u.Output.Known:
			return Count{}
		case hidden == 0, hidden > 0 && hidden == u.Reasoning.N:
			return Tokens(generated)
		}
	}
	return Tokens(rest)
}
