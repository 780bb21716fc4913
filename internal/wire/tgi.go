package wire

import "encoding/json"

// tgi is Hugging Face TGI's native /generate_stream. It has no ignore_eos and no minimum, so an answer may end
// early; every frame is exactly one token, and the last frame carries its own token beside the final counts.
type tgi struct{ common }

func (tgi) Name() string    { return "tgi" }
func (tgi) Path(Ask) string { return "/generate_stream" }
func (tgi) Fields() []Field { return []Field{FieldDetails} }

func (tgi) Body(a Ask) ([]byte, error) {
	p := body{"max_new_tokens": a.MaxTokens, "do_sample": false}
	p.options(a, tgi{}.Fields(), nil)
	return json.Marshal(body{"inputs": a.text(), "parameters": p})
}

func (tgi) Decode(data []byte) (Delta, error) { return decode(data, readTGI) }

func readTGI(frame []byte) (d Delta) {
	fields(frame, func(key, value []byte) {
		switch string(key) {
		case "token":
			fields(value, func(key, value []byte) {
				d.Choice, d.Tokens = true, 1
				if string(key) == "text" {
					d.Text = textIn(value)
				}
			})
		case "generated_text": // in the last frame: its end if that tells no details
			if textIn(value) != nil && d.Finish == "" {
				d.finish(key)
			}
		case "details":
			fields(value, d.Usage.add)
			d.finish(textIn(member(value, "finish_reason")))
		}
	})
	return d
}

func (tgi) Tokenizer(Server) (Tokenizer, bool) { return tokenizers[tokenizeTGI].prompt, true }
