package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// tgi is Hugging Face TGI's native /generate_stream. It has no ignore_eos and
// no minimum, so an answer may end early; every frame is exactly one token, and
// the last frame carries its own token beside the final counts.
type tgi struct{}

func (tgi) Name() string { return "tgi" }
func (tgi) Path() string { return "/generate_stream" }

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
		Inputs:     a.Prompt,
		Parameters: tgiParameters{MaxNewTokens: a.MaxTokens, Details: !a.Omits(FieldDetails)},
	})
}

type tgiFrame struct {
	Token *struct {
		Text string `json:"text"`
	} `json:"token"`
	GeneratedText *string `json:"generated_text"`
	Details       *struct {
		Finish    string `json:"finish_reason"`
		Generated *int   `json:"generated_tokens"`
		Input     *int   `json:"input_length"`
	} `json:"details"`
}

func (tgi) Decode(data []byte) (Delta, error) {
	data = bytes.TrimSpace(data)
	var f tgiFrame
	if err := json.Unmarshal(data, &f); err != nil {
		return Delta{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if f.Token == nil && f.GeneratedText == nil {
		if failure := ParseError(data); failure != nil {
			return Delta{Err: failure}, nil
		}
	}
	return f.delta(), nil
}

// endOfText is the finish reason of an answer whose last frame tells no
// details: that frame has generated_text, and that is its end.
const endOfText = "generated_text"

func (f tgiFrame) delta() Delta {
	d := Delta{Done: f.GeneratedText != nil}
	if f.Token != nil {
		d.Choice, d.Tokens, d.Text = true, 1, f.Token.Text
	}
	if f.Details != nil {
		d.Finish = f.Details.Finish
		d.Usage = Usage{Prompt: count(f.Details.Input), Output: count(f.Details.Generated)}
	}
	if d.Done && d.Finish == "" {
		d.Finish = endOfText
	}
	return d
}

func (tgi) Count(a Ask) (path string, body []byte, err error) {
	body, err = json.Marshal(struct {
		Inputs string `json:"inputs"`
	}{a.Prompt})
	return tokenizePath, body, err
}

// Counted reads a list of tokens.
func (tgi) Counted(reply []byte) (int, bool) {
	n := listLength(reply)
	return n, n > 0
}
