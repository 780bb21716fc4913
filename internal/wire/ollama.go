package wire

import (
	"cmp"

	"github.com/tidwall/gjson"
)

// ollama is Ollama's native /api/generate: a JSON object on each line. An answer may end early, and only the last line
// counts its tokens.
var ollama = &Dialect{
	Name:      "ollama",
	Operation: "text_completion",
	Provider:  "ollama",
	Path:      fixedPath("/api/generate"),
	Fields:    []Field{FieldTemperature, FieldSeed, fieldThink},
	body:      ollamaBody,
	keys:      map[Field]string{FieldTemperature: "options.temperature", FieldSeed: "options.seed"},
	read:      readOllama,
}

// ollamaBody returns a request that always has truncate and shift, which are therefore not among the optional fields:
// without them, Ollama would silently cut a prompt that is too long. It never has num_ctx: with another context than
// the model was loaded with, Ollama would load it again, for everybody.
func ollamaBody(a Ask) body {
	return body{
		"model":      a.Model,
		"prompt":     a.text(),
		"raw":        true,
		"stream":     true,
		"keep_alive": "30m",
		"truncate":   false,
		"shift":      false,
		"options":    body{"num_predict": a.MaxTokens},
	}
}

// readOllama reads a line of an answer, or of one of /api/chat.
func readOllama(frame gjson.Result) Delta {
	var d Delta
	for key, value := range fieldsOf(frame) {
		switch key {
		case "model":
			d.Model = value.Str
		case "response":
			d.Choice = true
			d.addText(value.Str)
		case "thinking":
			d.Reasoning = append(d.Reasoning, value.Str...)
		case "message": // of /api/chat
			d.Choice = true
			d.addMessage(value)
		case "done":
			d.End = value.Type == gjson.True
		case "done_reason":
			d.setFinish(value)
		case "prompt_eval_count", "prompt_eval_cached_count", "eval_count":
			d.Usage.add(key, value)
		}
	}
	if d.End {
		d.Choice = false                    // the counts are those of the whole answer: they are not evidence of a token
		d.Finish = cmp.Or(d.Finish, "done") // older releases give no reason
	}
	return d
}
