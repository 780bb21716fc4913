package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/sim"
)

func TestSimulateSpeaksAsItsFlagsSay(t *testing.T) {
	const chat = `{"messages":[{"role":"user","content":"do not stop"}],"max_tokens":2,"stream":true,"stream_options":{"include_usage":true}}`
	for _, test := range []struct {
		name, path, body string
		config           sim.Config
		want, without    string
	}{
		{"api", "/api/generate", `{"model":"meta-llama/Llama-3.1-8B-Instruct","prompt":"do not stop","options":{"num_predict":2}}`, sim.Config{API: "ollama"}, `"response":" river"`, `"choices"`},
		{"server", "/v1/chat/completions", chat, sim.Config{Server: "litellm"}, `"completion_tokens_details":null`, `"reasoning`},
		{"reasoning", "/v1/chat/completions", chat, sim.Config{Reasoning: 1}, `{"reasoning":"the"}`, `"content":" river"`},
		{"hidden reasoning", "/v1/chat/completions", chat, sim.Config{Reasoning: 1, HideReasoning: true}, `"reasoning_tokens":1`, `"reasoning":`},
	} {
		s := simulation{Config: test.config, listen: "127.0.0.1:0", profiles: []string{"fast"}}
		endpoints, err := s.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := httptest.NewRecorder()
		endpoints[0].Server.ServeHTTP(got, httptest.NewRequest(http.MethodPost, test.path, strings.NewReader(test.body)))
		sim.CloseAll(endpoints)
		if body := got.Body.String(); !strings.Contains(body, test.want) || strings.Contains(body, test.without) {
			t.Errorf("%s: want %s and not %s in\n%s", test.name, test.want, test.without, body)
		}
	}
}
