package wire

import "cmp"

// ollama is Ollama's native /api/generate: a JSON object a line. An answer may end early, and its tokens are counted in the last
// line only. Its fields have neither truncate nor shift: without them Ollama would silently cut a prompt that is too long.
var ollama = &Dialect{
	Name: "ollama", Path: at("/api/generate"), read: readLine,
	Fields: []Field{FieldTemperature, FieldSeed, fieldThink},
	body: func(a Ask) body { // never with num_ctx: another one than the model was loaded with loads it again, for everybody
		return body{
			"model": a.Model, "prompt": a.text(), "raw": true, "stream": true,
			"keep_alive": "30m", "truncate": false, "shift": false, "options": body{"num_predict": a.MaxTokens},
		}
	},
	keys: map[Field]string{FieldTemperature: "options.temperature", FieldSeed: "options.seed"},
}

func readLine(frame []byte) (d Delta) {
	done := false
	fields(frame, func(key, value []byte) {
		switch string(key) {
		case "response":
			d.Choice, d.Text = true, textIn(value)
		case "thinking":
			d.Reasoning = textIn(value)
		case "message": // of /api/chat
			d.Choice = true
			d.addMessage(value)
		case "done":
			done = string(value) == "true"
		case "done_reason":
			d.finish(textIn(value))
		case "prompt_eval_count", "eval_count":
			d.Usage.add(key, value)
		}
	})
	if done {
		d.Choice = false                    // its counts are those of the whole answer
		d.Finish = cmp.Or(d.Finish, "done") // older releases tell no reason
	}
	return d
}
