package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestSimulateSpeaksAsItsFlagsSay(t *testing.T) {
	const chat = `{"messages":[{"role":"user","content":"do not stop"}],"max_tokens":2}`
	for _, test := range []struct {
		name, path, body string
		simulation       simulation
		want, without    string
	}{
		{"api", "/api/generate", `{"model":"meta-llama/Llama-3.1-8B-Instruct","prompt":"do not stop","stream":false,"options":{"num_predict":2}}`, simulation{api: "ollama"}, `"response":"the river"`, `"choices"`},
		{"server", "/v1/chat/completions", chat, simulation{server: "litellm"}, `"completion_tokens_details":null`, `"reasoning`},
		{"reasoning", "/v1/chat/completions", chat, simulation{reasoning: 1}, `"content":"the","reasoning":"the"`, `"content":"the river"`},
		{"hidden reasoning", "/v1/chat/completions", chat, simulation{reasoning: 1, hideReasoning: true}, `"reasoning_tokens":1`, `"reasoning":`},
	} {
		test.simulation.listen, test.simulation.profiles = "127.0.0.1:0", []string{"fast"}
		endpoints, err := test.simulation.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := httptest.NewRecorder()
		endpoints[0].server.ServeHTTP(got, httptest.NewRequest(http.MethodPost, test.path, strings.NewReader(test.body)))
		closeAll(endpoints)
		if body := got.Body.String(); !strings.Contains(body, test.want) || strings.Contains(body, test.without) {
			t.Errorf("%s: want %s and not %s in\n%s", test.name, test.want, test.without, body)
		}
	}
}
