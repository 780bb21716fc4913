package wire

import "encoding/json"

// tgi is Hugging Face TGI's native /generate_stream. It has no ignore_eos and
// no minimum, so an answer may end early; every frame is exactly one token, and
// the last frame carries its own token beside the final counts.
type tgi struct{ common }

func (tgi) Name() string    { return "tgi" }
func (tgi) Path(Ask) string { return "/generate_stream" }

func (tgi) Fields() []Field { return []Field{FieldDetails} }

type tgiRequest struct {
	Inputs     string        `json:"inputs"`
	Parameters tgiParameters `json:"parameters"`
}

type tgiParameters struct {
	MaxNewTokens int  `json:"max_new_tokens"`
	DoSample     bool `json:"do_sample"`
	Details      bool `json:"details,omitempty"`
}

func (tgi) Body(a Ask) ([]byte, error) {
	return json.Marshal(tgiRequest{
		Inputs:     a.text(),
		Parameters: tgiParameters{MaxNewTokens: a.MaxTokens, Details: !a.Omits(FieldDetails)},
	})
}

// endOfText is the finish reason of an answer whose last frame tells no
// details: that frame has generated_text, and that is its end.
const endOfText = "generated_text"

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
		case "generated_text":
			if textIn(value) != nil && d.Finish == "" {
				d.Finish = endOfText
			}
		case "details":
			fields(value, d.Usage.add)
			d.finish(textIn(member(value, "finish_reason")))
		}
	})
	return d
}

func (tgi) Tokenizer(Server) (Tokenizer, bool) { return tokenizers[tokenizeTGI].prompt, true }
