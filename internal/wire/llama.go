package wire

// llama is llama-server's own /completion. A frame counts the tokens so far: it
// shows none of a character that is not complete yet.
var llama = &Dialect{
	Name: "llama-server", Path: at("/completion"), read: readLlama,
	Fields: []Field{FieldIgnoreEOS, FieldTemperature, FieldSeed, fieldTimings}, body: llamaBody,
	ids: always, tokenizer: func(Server) Tokenizer { return llamaTokens.prompt },
}

// fieldTimings asks for timings in every frame, not only in the last.
const fieldTimings Field = "timings_per_token"

// llamaBody asks a cold prompt without the cache, which has no salt.
func llamaBody(a Ask) body {
	return body{"prompt": a.plain(), "n_predict": a.MaxTokens, "stream": true, "cache_prompt": a.CacheSalt == ""}
}

func readLlama(frame []byte) (d Delta) {
	if member(frame, "prompt_progress") != nil { // no token yet, whatever it counts
		return d
	}
	ids := 0
	fields(frame, func(key, value []byte) {
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
			if string(value) == "true" {
				d.finish(llamaEnd(frame))
			}
		}
	})
	if !d.Usage.Output.Known {
		d.Tokens = ids
	}
	return d
}

// llamaEnd is why the answer ended: stop_type, or a flag of its own for each reason in older releases.
func llamaEnd(data []byte) []byte {
	reason := []byte("stop")
	fields(data, func(key, value []byte) {
		switch string(key) {
		case "stop_type":
			reason = textIn(value)
		case "stopped_eos", "stopped_limit", "stopped_word":
			if string(value) == "true" {
				reason = key[len("stopped_"):]
			}
		}
	})
	if string(member(data, "truncated")) == "true" { // the context was too short
		return []byte("truncated")
	}
	return reason
}
