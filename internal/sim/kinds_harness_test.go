package sim

import "strings"

// base is where a kind's routes start.
func (r *rig) base() string { return r.sim.kind.prefixes[0] }

// kindChat is a streamed chat of two tokens in the words of a kind, with all that it knows of a prober's wishes and, where
// that does no harm, what it does not.
func kindChat(name string) string {
	body := `{"model":"M","messages":[{"role":"user","content":"count, do not stop"}],"max_tokens":2,"min_tokens":2,"ignore_eos":true,"cache_salt":"s",` +
		`"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`
	return inWordsOf(name, body)
}

// kindText is the same of completions, without continuous usage.
func kindText(name string) string {
	body := `{"model":"M","prompt":"count, do not stop","max_tokens":2,"min_tokens":2,"ignore_eos":true,"cache_salt":"s",` +
		`"stream":true,"stream_options":{"include_usage":true}}`
	return inWordsOf(name, body)
}

// inWordsOf takes from a request what strict kinds refuse.
func inWordsOf(name, body string) string {
	switch name {
	case "trtllm":
		return strings.ReplaceAll(body, `"cache_salt":"s",`, "")
	case "openai":
		body = strings.NewReplacer(`"min_tokens":2,"ignore_eos":true,"cache_salt":"s",`, "", `,"continuous_usage_stats":true`, "").Replace(body)
		if strings.Contains(body, "messages") {
			body = strings.ReplaceAll(body, "max_tokens", "max_completion_tokens")
		}
	}
	return body
}
