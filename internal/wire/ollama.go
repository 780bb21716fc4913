package wire

import (
	"cmp"
	"encoding/json"
)

// ollama is Ollama's native /api/generate: a JSON object a line. It has no ignore_eos and no minimum, so an
// answer may end early, and it counts tokens in the last line only.
type ollama struct{ common }

func (ollama) Name() string    { return "ollama" }
func (ollama) Path(Ask) string { return "/api/generate" }

// fieldThink asks a model that can think not to.
const fieldThink Field = "think"

// Fields has neither truncate nor shift: a complaint that names them is about a
// prompt that is too long, and without them Ollama would silently cut it.
func (ollama) Fields() []Field { return []Field{FieldTemperature, FieldSeed, fieldThink} }

// Body never sends num_ctx: another one than the model was loaded with loads it again, for everybody.
func (ollama) Body(a Ask) ([]byte, error) {
	b := body{
		"model": a.Model, "prompt": a.text(), "raw": true, "stream": true,
		"keep_alive": "30m", "truncate": false, "shift": false,
	}
	b.set("options.num_predict", a.MaxTokens)
	b.options(a, ollama{}.Fields(), map[Field]string{FieldTemperature: "options.temperature", FieldSeed: "options.seed"})
	return json.Marshal(b)
}

func (ollama) Decode(data []byte) (Delta, error) { return decode(data, readLine) }

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
