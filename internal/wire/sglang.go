package wire

// sglang is SGLang's native /generate. Every frame counts its tokens. It repeats the whole answer so far. A
// server that runs with --incremental-streaming-output sends only what a frame adds, and nothing in a frame tells which
// of the two it is. The cache keeps prompts apart by extra_key.
var sglang = &Dialect{
	Name:   "sglang",
	Path:   fixedPath("/generate"),
	Fields: []Field{FieldMinTokens, FieldIgnoreEOS, FieldTemperature, FieldCacheSalt, FieldPriority},
	body:   sglangBody,
	keys: map[Field]string{
		FieldMinTokens:   "sampling_params.min_new_tokens",
		FieldIgnoreEOS:   "sampling_params.ignore_eos",
		FieldTemperature: "sampling_params.temperature",
		FieldCacheSalt:   "extra_key",
	},
	read:      readSGLang,
	tokenizer: Server.tokenizer,
}

// sglangBody returns the request of an answer.
func sglangBody(a Ask) body {
	return body{
		"text":            a.text(),
		"stream":          true,
		"sampling_params": body{"max_new_tokens": a.MaxTokens},
	}
}

// readSGLang reads a frame of an answer.
func readSGLang(frame []byte) Delta {
	var d Delta
	var ids Count
	eachField(frame, func(key, value []byte) {
		switch string(key) {
		case "text":
			d.Choice = true
			d.Whole = true
			d.Text = stringIn(value)
		case "output_ids":
			d.Choice = true
			ids = Tokens(elementCount(value))
		case "meta_info": // its reasoning tokens may be one more than its output tokens
			d.Choice = true
			eachField(value, d.Usage.add)
			d.addSGLangFinish(memberOf(value, "finish_reason"))
		}
	})
	if !d.Usage.Output.Known {
		d.Usage.Output = ids
	}
	return d
}

// addSGLangFinish adds SGLang's finish reason: an object with a type, or a word in older releases. The object of an
// aborted answer says why.
func (d *Delta) addSGLangFinish(reason []byte) {
	d.setFinish(reason)
	if d.Finish == "abort" && memberOf(reason, "message") != nil {
		d.Err = readError(reason, 0)
	}
}
