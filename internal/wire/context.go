package wire

import (
	"strconv"
	"strings"
)

// TooLong reports whether a reply refuses a request because prompt and answer do
// not fit the server's context. context is its length in tokens, 0 if the reply does
// not tell.
func TooLong(reply []byte) (context int, ok bool) {
	text := strings.ToLower(string(reply))
	for _, phrase := range []string{
		"context length", "max_model_len", "maximum model length", // vLLM, SGLang, OpenAI, Ollama
		"context window", "context_window", "contextwindow", // llama-cpp-python, LiteLLM
		"context size", "context_size", "n_ctx", // llama-server
		"context_length_exceeded", // OpenAI
	} {
		for _, part := range strings.Split(text, phrase)[1:] {
			ok = true
			context = max(context, leadingNumber(part))
		}
	}
	if _, long, found := strings.Cut(text, "prompt is too long"); found { // Anthropic: 210000 tokens > 200000 maximum
		_, limit, _ := strings.Cut(long, "> ")
		context, ok = max(context, leadingNumber(limit)), true
	}
	return context, ok
}

// leadingNumber is the number that a text begins with, behind words and signs that
// stand between a name and its value; 0 if there is none. It may be grouped: 131,072.
func leadingNumber(text string) int {
	text = strings.TrimLeft(text, ` :="'\(isof`)
	end := digits(text)
	for end > 0 && strings.HasPrefix(text[end:], ",") && digits(text[end+1:]) == 3 {
		end += 4
	}
	n, err := strconv.Atoi(strings.ReplaceAll(text[:end], ",", ""))
	if err != nil || n > maxCount {
		return 0
	}
	return n
}

// digits is how many digits a text begins with.
func digits(text string) int { return len(text) - len(strings.TrimLeft(text, "0123456789")) }
