package wire

// sglang is SGLang's native /generate. Every frame counts its tokens, and repeats the whole answer so far, unless the server runs
// with --incremental-streaming-output, which nothing else tells. Prompts are kept apart in the cache by extra_key.
var sglang = &Dialect{
	Name: "sglang", Path: at("/generate"), read: readSGLang,
	Fields: []Field{FieldMinTokens, FieldIgnoreEOS, FieldTemperature, FieldCacheSalt, FieldPriority},
	body: func(a Ask) body {
		return body{"text": a.text(), "stream": true, "sampling_params": body{"max_new_tokens": a.MaxTokens}}
	},
	keys: map[Field]string{
		FieldMinTokens:   "sampling_params.min_new_tokens",
		FieldIgnoreEOS:   "sampling_params.ignore_eos",
		FieldTemperature: "sampling_params.temperature",
		FieldCacheSalt:   "extra_key",
	},
	tokenizer: Server.tokenizer,
}

func readSGLang(frame []byte) (d Delta) {
	ids := Count{}
	fields(frame, func(key, value []byte) {
		switch string(key) {
		case "text":
			d.Choice, d.Whole, d.Text = true, true, textIn(value)
		case "output_ids":
			d.Choice, ids = true, Tokens(0)
			elements(value, func([]byte) { ids.N++ })
		case "meta_info": // its reasoning tokens may be one more than all of them
			d.Choice = true
			fields(value, d.Usage.add)
			d.addEnd(member(value, "finish_reason"))
		}
	})
	if !d.Usage.Output.Known {
		d.Usage.Output = ids
	}
	return d
}

// addEnd adds SGLang's finish reason: an object with a type, or a word in older releases. An aborted answer says there why.
func (d *Delta) addEnd(reason []byte) {
	d.finish(textIn(reason))
	d.finish(textIn(member(reason, "type")))
	if d.Finish == "abort" && member(reason, "message") != nil {
		d.Err = nested(reason, "")
		d.Err.Code = unquote(member(reason, "status_code"))
	}
}
