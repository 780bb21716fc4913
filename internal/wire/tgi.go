package wire

import (
	"cmp"

	"github.com/tidwall/gjson"
)

// tgi is Hugging Face TGI's native /generate_stream. It has neither ignore_eos nor a minimum, so that an answer may end
// early. Every frame is exactly one token. The last frame has its own token beside the final counts.
var tgi = &Dialect{
	Name:      "tgi",
	Operation: "text_completion",
	Provider:  "tgi",
	Path:      fixedPath("/generate_stream"),
	Fields:    []Field{FieldDetails},
	body:      tgiBody,
	fieldsIn:  "parameters.",
	read:      readTGI,
	tokenizer: func(Server) Tokenizer { return tgiPrompt },
}

func tgiBody(a Ask) body {
	return body{
		"inputs":     a.text(),
		"parameters": body{"max_new_tokens": a.MaxTokens, "do_sample": false},
	}
}

func readTGI(frame gjson.Result) Delta {
	var d Delta
	for key, value := range fieldsOf(frame) {
		switch key {
		case "token":
			if value.Type != gjson.Null {
				d.Choice = true
				d.Tokens = 1
				d.addText(member(value, "text").Str)
			}
		case "generated_text": // only the last frame has a text here; the key is the finish reason if there are no details
			if value.Type == gjson.String {
				d.End = true
				d.Finish = cmp.Or(d.Finish, key)
			}
		case "details":
			d.Usage.addAll(value)
			d.setFinish(member(value, "finish_reason"))
		}
	}
	return d
}
