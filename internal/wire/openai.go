package wire

import "strings"

// extensions lists the optional fields of both endpoints.
func extensions() []Field {
	return []Field{
		FieldMinTokens, FieldIgnoreEOS, FieldContinuousUsage, FieldStreamOptions,
		FieldCacheSalt, FieldPriority, FieldSeed, FieldTemperature,
	}
}

// newBody is the part of a request that both endpoints share: the standard keys,
// the extensions that vLLM's family of servers knows, and the server's own. Both
// min_tokens and ignore_eos are needed: vLLM masks the end-of-sequence token only
// until min_tokens is reached.
func newBody(a Ask) body {
	b := body{"stream": true}
	if a.Model != "" {
		b["model"] = a.Model
	}
	b.ask(a, FieldMinTokens, "min_tokens", a.MaxTokens)
	b.ask(a, FieldIgnoreEOS, "ignore_eos", true)
	b.ask(a, FieldTemperature, "temperature", 0)
	b.ask(a, FieldSeed, "seed", 1)
	if !a.Omits(FieldStreamOptions) {
		b.set("stream_options.include_usage", true)
		b.ask(a, FieldContinuousUsage, "stream_options.continuous_usage_stats", true)
	}
	if a.CacheSalt != "" {
		b.ask(a, FieldCacheSalt, "cache_salt", a.CacheSalt)
	}
	if a.Priority != nil {
		b.ask(a, FieldPriority, "priority", *a.Priority)
	}
	b.extra(a)
	return b
}

// decodeChunk reads a frame of either endpoint. Probes ask for one choice; of
// several, all count as one.
func decodeChunk(data []byte) (Delta, error) {
	var d Delta
	choices := false
	data, other, err := opened(data, func(key, value []byte) {
		switch string(key) {
		case "choices":
			choices = true
			elements(value, d.addChoice)
		case "usage":
			d.Usage = d.Usage.Merge(usageIn(value))
		case "x_groq": // Groq puts usage here, in its last frame
			d.Usage = d.Usage.Merge(groqUsage(value))
		case "timings": // llama-server, in its last frame
			d.Usage = d.Usage.Merge(timings(value))
		}
	})
	if data == nil {
		return other, err
	}
	d.Err = errorBeside(data, choices)
	return d, nil
}

// addChoice adds what one choice says. Servers that spell reasoning under two
// keys write the same text twice.
func (d *Delta) addChoice(choice []byte) {
	d.Choice = true
	var reasoning, content []byte
	role := false
	fields(choice, func(key, value []byte) {
		switch string(key) {
		case "delta":
			reasoning, content, role = d.addDelta(value)
		case "text": // completions
			d.Text = join(d.Text, textIn(value))
		case "token_ids", "output_ids": // vLLM; LMDeploy
			elements(value, func([]byte) { d.Tokens++ })
		case "finish_reason":
			d.finish(textIn(value))
		}
	})
	if len(reasoning) == 0 {
		reasoning = content
	}
	d.Reasoning = join(d.Reasoning, reasoning)
	d.Role = role && len(d.Text)+len(d.Reasoning) == 0 && d.Tokens == 0 && d.Finish == ""
}

// finish notes a finish reason; an empty one is none (TGI writes it). Reasons are
// a word: of a text that is none, the start is kept.
func (d *Delta) finish(reason []byte) {
	const longest = 40
	if len(reason) > 0 {
		d.Finish = strings.ToValidUTF8(string(reason[:min(longest, len(reason))]), "")
	}
}

// addDelta adds the visible part of a chat delta, and returns its reasoning:
// from a key of its own, and from within a list of content parts. role is true if
// it names one.
func (d *Delta) addDelta(delta []byte) (reasoning, thinking []byte, role bool) {
	fields(delta, func(key, value []byte) {
		switch string(key) {
		case "role":
			role = true
		case "content":
			var visible []byte
			visible, thinking = contentIn(value)
			d.Text = join(d.Text, visible)
		case "reasoning", "reasoning_content":
			if len(reasoning) == 0 {
				reasoning = textIn(value)
			}
		case "reasoning_details": // OpenRouter; beside a flat key it says the same
			thinking = join(thinking, details(value))
		case "refusal":
			refusal := textIn(value)
			d.Text = join(d.Text, refusal)
			d.Refusal = d.Refusal || len(refusal) > 0
		case "tool_calls":
			elements(value, func(call []byte) { fields(call, d.addFunction) })
		case "function_call":
			d.addFunction([]byte("function"), value)
		}
	})
	return reasoning, thinking, role
}

// details is the reasoning in OpenRouter's list of its parts.
func details(list []byte) (reasoning []byte) {
	elements(list, func(part []byte) {
		fields(part, func(key, value []byte) {
			if string(key) == "text" || string(key) == "summary" {
				reasoning = join(reasoning, textIn(value))
			}
		})
	})
	return reasoning
}

// addFunction adds the name and the arguments of a call.
func (d *Delta) addFunction(key, value []byte) {
	if string(key) != "function" {
		return
	}
	fields(value, func(key, value []byte) {
		if string(key) == "name" || string(key) == "arguments" {
			d.Text = join(d.Text, textIn(value))
		}
	})
}

// contentIn is a delta's content: a string, or a list of parts, where Mistral
// nests its thinking.
func contentIn(value []byte) (visible, thinking []byte) {
	if visible = textIn(value); visible != nil {
		return visible, nil
	}
	elements(value, func(part []byte) {
		fields(part, func(key, value []byte) {
			switch string(key) {
			case "text":
				visible = join(visible, textIn(value))
			case "thinking":
				nested, _ := contentIn(value)
				thinking = join(thinking, nested)
			}
		})
	})
	return visible, thinking
}

// usageIn reads a usage object. Details that are absent or null are unknown.
func usageIn(value []byte) Usage {
	var u Usage
	fields(value, func(key, value []byte) {
		switch string(key) {
		case "prompt_tokens":
			u.Prompt = countIn(value)
		case "completion_tokens":
			u.Output = countIn(value)
		case "total_tokens":
			u.Total = countIn(value)
		case "reasoning_tokens": // SGLang writes it flat
			u.Reasoning = u.Reasoning.larger(countIn(value))
		case "prompt_cache_hit_tokens": // DeepSeek
			u.Cached = u.Cached.larger(countIn(value))
		case "prompt_tokens_details":
			u.Cached = u.Cached.larger(detail(value, "cached_tokens"))
		case "completion_tokens_details":
			u.Reasoning = u.Reasoning.larger(detail(value, "reasoning_tokens"))
		}
	})
	return u
}

// detail is the count of that name in an object.
func detail(object []byte, name string) Count { return countIn(member(object, name)) }

func groqUsage(value []byte) Usage { return usageIn(member(value, "usage")) }

// timings are llama-server's own counts. The prompt's length is what it
// evaluated now and what it found in its cache.
func timings(value []byte) Usage {
	u := Usage{Cached: detail(value, "cache_n"), Output: detail(value, "predicted_n")}
	if evaluated := detail(value, "prompt_n"); evaluated.Known && u.Cached.Known {
		u.Prompt = Tokens(min(maxCount, evaluated.N+u.Cached.N))
	}
	return u
}
