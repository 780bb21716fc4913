package wire

import "encoding/json"

// llama is llama-server's own /completion. A frame counts the tokens so far: it
// shows none of a character that is not complete yet.
type llama struct{ common }

func (llama) Name() string    { return "llama-server" }
func (llama) Path(Ask) string { return "/completion" }

// fieldTimings asks for timings in every frame, not only in the last.
const fieldTimings Field = "timings_per_token"

func (llama) Fields() []Field {
	return []Field{FieldIgnoreEOS, FieldTemperature, FieldSeed, fieldTimings}
}

// Body asks a cold prompt without the cache, which has no salt.
func (llama) Body(a Ask) ([]byte, error) {
	b := body{"stream": true, "n_predict": a.MaxTokens, "cache_prompt": a.CacheSalt == ""}
	b.prompt(a, "prompt", "prompt")
	b.options(a, llama{}.Fields(), nil)
	return json.Marshal(b)
}

func (llama) TakesIDs(Server) bool              { return true }
func (llama) Decode(data []byte) (Delta, error) { return decode(data, readLlama) }

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

func (llama) Tokenizer(Server) (Tokenizer, bool) { return tokenizers[tokenizeLlama].prompt, true }
