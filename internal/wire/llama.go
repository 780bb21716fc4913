package wire

// llama is llama-server's own /completion. A frame counts the tokens so far, those of an incomplete character too.
var llama = &Dialect{
	Name: "llama-server", Path: at("/completion"), read: readLlama,
	Fields: []Field{FieldIgnoreEOS, FieldTemperature, FieldSeed, fieldTimings},
	body: func(a Ask) body { // a cold prompt is asked without the cache, which has no salt
		return body{"prompt": a.text(), "n_predict": a.MaxTokens, "stream": true, "cache_prompt": a.CacheSalt == ""}
	},
	tokenizer: func(Server) Tokenizer { return llamaTokens.prompt },
}

func readLlama(frame []byte) (d Delta) {
	if member(frame, "prompt_progress") != nil { // no token yet, whatever it counts
		return d
	}
	ids, ended, truncated, reason := 0, false, false, []byte("stop")
	fields(frame, func(key, value []byte) {
		yes := string(value) == "true"
		switch string(key) {
		case "content":
			d.Choice, d.Text = true, textIn(value)
		case "tokens":
			elements(value, func([]byte) { ids++ })
		case "tokens_predicted", "tokens_evaluated":
			d.Usage.add(key, value)
		case "timings":
			d.Usage = d.Usage.Merge(timings(value))
		case "stop":
			ended = yes
		case "stop_type":
			reason = textIn(value)
		case "stopped_eos", "stopped_limit", "stopped_word": // in older releases
			if yes {
				reason = key[len("stopped_"):]
			}
		case "truncated": // the context was too short
			truncated = yes
		}
	})
	switch {
	case ended && truncated:
		d.Finish = "truncated"
	case ended:
		d.finish(reason)
	}
	if !d.Usage.Output.Known {
		d.Tokens = ids
	}
	return d
}
