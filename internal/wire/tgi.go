package wire

// tgi is Hugging Face TGI's native /generate_stream. It has no ignore_eos and no minimum, so an answer may end
// early; every frame is exactly one token, and the last frame carries its own token beside the final counts.
var tgi = &Dialect{
	Name: "tgi", Path: at("/generate_stream"), read: readTGI,
	Fields: []Field{FieldDetails}, inside: "parameters.",
	body: func(a Ask) body {
		return body{"inputs": a.text(), "parameters": body{"max_new_tokens": a.MaxTokens, "do_sample": false}}
	},
	tokenizer: func(Server) Tokenizer { return tgiTokens.prompt },
}

func readTGI(frame []byte) (d Delta) {
	fields(frame, func(key, value []byte) {
		switch string(key) {
		case "token":
			if present(value) {
				d.Choice, d.Tokens, d.Text = true, 1, textIn(member(value, "text"))
			}
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
