package wire

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"
)

// llama is llama-server's own /completion. Each frame counts the tokens so far, with those of an incomplete character.
var llama = &Dialect{
	Name:      "llama-server",
	Operation: "text_completion",
	Provider:  "llama-server",
	Path:      fixedPath("/completion"),
	Fields:    []Field{FieldIgnoreEOS, FieldTemperature, FieldSeed, fieldTimings},
	body:      llamaBody,
	read:      readLlama,
	tokenizer: func(Server) Tokenizer { return llamaPrompt },
}

// llamaBody returns a request that asks a cold prompt without the cache: there is no salt that could keep prompts apart
// in it.
func llamaBody(a Ask) body {
	return body{
		"prompt":       a.text(),
		"n_predict":    a.MaxTokens,
		"stream":       true,
		"cache_prompt": a.CacheSalt == "",
	}
}

func readLlama(frame gjson.Result) Delta {
	var d Delta
	if member(frame, "prompt_progress").Exists() { // there is no token yet, whatever the frame counts
		return d
	}
	var ids int
	var truncated bool
	reason := "stop"
	for key, value := range fieldsOf(frame) {
		switch key {
		case "model":
			d.Model = value.Str
		case "content":
			d.Choice = true
			d.addText(value.Str)
		case "tokens":
			ids = elementCount(value)
		case "tokens_predicted", "tokens_evaluated":
			d.Usage.add(key, value)
		case "timings":
			d.Usage = d.Usage.Merge(timings(value))
		case "stop":
			d.End = value.Type == gjson.True
		case "stop_type":
			reason = cmp.Or(finishReason(value), reason)
		case "stopped_eos", "stopped_limit", "stopped_word": // in older releases
			if value.Type == gjson.True {
				reason = strings.TrimPrefix(key, "stopped_")
			}
		case "truncated": // the context was too short
			truncated = value.Type == gjson.True
		}
	}
	switch {
	case d.End && truncated:
		d.Finish = "truncated"
	case d.End:
		d.setReason(reason)
	}
	if !d.Usage.Output.Known {
		d.Tokens = ids
	}
	return d
}
