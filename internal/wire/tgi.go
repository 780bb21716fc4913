package wire

// tgi is Hugging Face TGI's native /generate_stream. It has neither ignore_eos nor a minimum, so that an answer may end
// early. Every frame is exactly one token. The last frame has its own token beside the final counts.
var tgi = &Dialect{
	Name:      "tgi",
	Path:      fixedPath("/generate_stream"),
	Fields:    []Field{FieldDetails},
	body:      tgiBody,
	inside:    "parameters.",
	read:      readTGI,
	tokenizer: func(Server) Tokenizer { return tgiTokens.prompt },
}

// tgiBody returns the request of an answer.
func tgiBody(a Ask) body {
	return body{
		"inputs":     a.text(),
		"parameters": body{"max_new_tokens": a.MaxTokens, "do_sample": false},
	}
}

// readTGI reads a frame of an answer.
func readTGI(frame []byte) Delta {
	var d Delta
	eachField(frame, func(key, value []byte) {
		switch string(key) {
		case "token":
			if isSet(value) {
				d.Choice = true
				d.Tokens = 1
				d.Text = stringIn(memberOf(value, "text"))
			}
		case "generated_text": // only the last frame has a text here: it is the finish reason if there are no details
			if stringIn(value) == nil {
				return
			}
			d.End = true
			if d.Finish == "" {
				d.setReason(key)
			}
		case "details":
			eachField(value, d.Usage.add)
			d.setFinish(memberOf(value, "finish_reason"))
		}
	})
	return d
}
