package wire

// llama is llama-server's own /completion. Each frame counts the tokens so far, with those of an incomplete character.
var llama = &Dialect{
	Name:      "llama-server",
	Path:      fixedPath("/completion"),
	Fields:    []Field{FieldIgnoreEOS, FieldTemperature, FieldSeed, fieldTimings},
	body:      llamaBody,
	read:      readLlama,
	tokenizer: func(Server) Tokenizer { return llamaTokens.prompt },
}

// llamaBody returns the request of an answer. There is no salt that could keep prompts apart in the cache, so a cold
// prompt is asked without the cache.
func llamaBody(a Ask) body {
	return body{
		"prompt":       a.text(),
		"n_predict":    a.MaxTokens,
		"stream":       true,
		"cache_prompt": a.CacheSalt == "",
	}
}

// readLlama reads a frame of an answer.
func readLlama(frame []byte) Delta {
	var d Delta
	if memberOf(frame, "prompt_progress") != nil { // there is no token yet, whatever the frame counts
		return d
	}
	var ids int
	var ended, truncated bool
	reason := []byte("stop")
	eachField(frame, func(key, value []byte) {
		isTrue := string(value) == "true"
		switch string(key) {
		case "model":
			d.Model = stringIn(value)
		case "content":
			d.Choice = true
			d.Text = stringIn(value)
		case "tokens":
			ids = elementCount(value)
		case "tokens_predicted", "tokens_evaluated":
			d.Usage.add(key, value)
		case "timings":
			d.Usage = d.Usage.Merge(timings(value))
		case "stop":
			ended = isTrue
		case "stop_type":
			word := finishReason(value)
			if len(word) > 0 {
				reason = word
			}
		case "stopped_eos", "stopped_limit", "stopped_word": // in older releases
			if isTrue {
				reason = key[len("stopped_"):]
			}
		case "truncated": // the context was too short
			truncated = isTrue
		}
	})
	d.End = ended
	switch {
	case ended && truncated:
		d.Finish = "truncated"
	case ended:
		d.setReason(reason)
	}
	if !d.Usage.Output.Known {
		d.Tokens = ids
	}
	return d
}
