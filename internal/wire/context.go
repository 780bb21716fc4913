package wire

import (
	"regexp"
	"strconv"
	"strings"
)

// tooLong is how servers refuse what does not fit their context, and the number that follows: vLLM, SGLang,
// OpenAI, Ollama; llama-cpp-python, LiteLLM; llama-server; Anthropic ("210000 tokens > 200000 maximum").
var tooLong = regexp.MustCompile(`(?i)(?:context[ _]length|max_model_len|maximum model length|context[ _]?window|` +
	`context[ _]size|n_ctx|prompt is too long[^>]*>)[ :="'\\(isof]*(\d{1,3}(?:,\d{3})+\b|\d+)?|prompt is too long`)

// TooLong reports whether a reply refuses a request because prompt and answer do not fit the server's context.
// context is its length in tokens, 0 if the reply does not tell.
func TooLong(reply []byte) (context int, ok bool) {
	for _, match := range tooLong.FindAllSubmatch(reply, -1) {
		ok = true
		n, err := strconv.Atoi(strings.ReplaceAll(string(match[1]), ",", ""))
		if err == nil && n <= maxCount {
			context = max(context, n)
		}
	}
	return context, ok
}
