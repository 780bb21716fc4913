package wire

import "testing"

// TestContexts holds where servers tell the context of a model, besides the lists of [TestModels].
func TestContexts(t *testing.T) {
	const loaded = `{"models":[{"name":"a:latest","model":"a:latest","size_vram":0,"context_length":32768},` +
		`{"name":"b:7b","context_length":2048},{"name":"c"}]}`
	for model, want := range map[string]int{"a:latest": 32768, "a": 32768, "b:7b": 2048, "b": 0, "c": 0, "d": 0} {
		if got := ParseLoaded([]byte(loaded), model); got != want {
			t.Errorf("%s is loaded with a context of %d, want %d", model, got, want)
		}
	}
	const architecture = `"model_info":{"general.architecture":"llama","llama.context_length":131072,` +
		`"clip.vision.context_length":7}}`
	for description, want := range map[string]int{
		`{"parameters":"stop \"<|eot_id|>\"\nnum_ctx    8192\ntemperature 0","details":{},` + architecture: 8192,
		`{"parameters":"stop \"num_ctx 9\"",` + architecture:                                               131072,
		`{` + architecture: 131072,
		`{"model_info":{"general.architecture":"llama"}}`: 0,
		`{"error":"model not found"}`:                     0,
		`404 page not found`:                              0,
	} {
		if got := ParseDescription([]byte(description)); got != want {
			t.Errorf("%s: a context of %d, want %d", description, got, want)
		}
	}
	for _, reply := range []string{"", "405 method not allowed", "[]", "null"} {
		if ParseLoaded([]byte(reply), "a")+ParseDescription([]byte(reply)) != 0 {
			t.Errorf("%q tells a context", reply)
		}
	}
}

// TestTokenizersThatGuess: a server that guesses how long a prompt is has no tokenizer by the APIs that would ask for
// the guess.
func TestTokenizersThatGuess(t *testing.T) {
	for _, d := range []*Dialect{anthropic, responses} {
		for name, want := range map[string]bool{"": true, "vllm": true, "dynamo": false, "ollama": false} {
			s, _ := LookupServer(name) // the zero value for none
			if _, ok := d.Tokenizer(s); ok != want {
				t.Errorf("%s by %s has a tokenizer: %t", name, d.Name, ok)
			}
		}
	}
}
