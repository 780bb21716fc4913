package wire

// A Count is a number of tokens that a server may not have told: not known is not zero.
type Count struct {
	N     int
	Known bool
}

// Tokens is a known count of n.
func Tokens(n int) Count { return Count{N: n, Known: true} }

// larger keeps the larger of two counts; an unknown one never wins.
func (c Count) larger(o Count) Count {
	if !o.Known || (c.Known && c.N >= o.N) {
		return c
	}
	return o
}

// Usage is the server's own token counts. All of them are cumulative over one answer.
type Usage struct {
	Prompt    Count // tokens of the prompt, template included
	Cached    Count // of these, tokens served from a prefix cache
	Output    Count // generated tokens, as the server counts them
	Reasoning Count // generated reasoning tokens; some servers count them outside Output
	Total     Count
}

// Merge keeps the larger count of each field. Servers repeat usage, and a repeated frame may have lost what an earlier one said.
func (u Usage) Merge(o Usage) Usage {
	return Usage{
		Prompt:    u.Prompt.larger(o.Prompt),
		Cached:    u.Cached.larger(o.Cached),
		Output:    u.Output.larger(o.Output),
		Reasoning: u.Reasoning.larger(o.Reasoning),
		Total:     u.Total.larger(o.Total),
	}
}

// add reads one field of a usage object, by the names that servers have for it. Absent or null details are unknown.
func (u *Usage) add(key, value []byte) {
	switch string(key) {
	case "prompt_tokens", "input_tokens", "input_length", "prompt_eval_count", "tokens_evaluated":
		u.Prompt = u.Prompt.larger(countIn(value))
	case "completion_tokens", "output_tokens", "generated_tokens", "eval_count", "tokens_predicted":
		u.Output = u.Output.larger(countIn(value))
	case "total_tokens":
		u.Total = u.Total.larger(countIn(value))
	case "cached_tokens", "cache_read_input_tokens", "prompt_cache_hit_tokens": // the last: DeepSeek
		u.Cached = u.Cached.larger(countIn(value))
	case "reasoning_tokens", "thinking_tokens":
		u.Reasoning = u.Reasoning.larger(countIn(value))
	case "prompt_tokens_details", "input_tokens_details", "completion_tokens_details", "output_tokens_details":
		fields(value, u.add)
	}
}

// Generated is the number of generated tokens, max(output, total − prompt): xAI's and Gemini's output count
// leaves reasoning out while their total does not. A count above a million is no answer's, and unknown.
func (u Usage) Generated() Count {
	n := u.Output
	if u.Total.Known && u.Prompt.Known {
		n = n.larger(Tokens(max(0, u.Total.N-u.Prompt.N)))
	}
	if n.N > MaxGenerated {
		return Count{}
	}
	return n
}

// MaxGenerated is the largest number of generated tokens that is believed.
const MaxGenerated = 1 << 20
