package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/testing/golden"
)

// TestRequests holds what each dialect sends: a request with all that can be asked for, one without what servers
// reject, those for an answer in a form, and one to each server type that it is the API of. After each comes the request
// that counts its tokens.
func TestRequests(t *testing.T) {
	for _, d := range dialects {
		everything := Ask{Model: "org/a model", Prompt: "p", MaxTokens: 7, CacheSalt: "s", Priority: new(-3)}
		conversation := Ask{
			Turns:  []Turn{{"system", "s"}, {"user", "u"}, {"assistant", "a"}, {"system", "t"}},
			Prompt: "p", MaxTokens: 7, Omit: d.Fields,
		}
		version := everything
		version.Version = "2030-01-01"
		var requests strings.Builder
		writeRequest(t, &requests, "everything that can be asked for", d, everything, "key")
		writeRequest(t, &requests, "a conversation without the optional fields", d, conversation, "")
		if d.Path(version) != d.Path(everything) || !maps.Equal(d.Header("", ""), d.Header("", version.Version)) {
			writeRequest(t, &requests, "another version of the API or of the model", d, version, "")
		}
		call, text := everything, everything
		call.Form = &Form{IsCall: true, Name: "f", About: "Does.", Schema: json.RawMessage(`{"type":"object"}`)}
		text.Form = &Form{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)}
		if d.Forms {
			writeRequest(t, &requests, "a call of a function", d, call, "")
			writeRequest(t, &requests, "JSON by a schema", d, text, "")
		} else if _, err := d.Body(call); !errors.Is(err, ErrNoForm) {
			t.Errorf("%s: a call of a function: %v", d.Name, err)
		}
		for _, s := range servers {
			if d == chat && s.SchemaIn != "" {
				text.Server = s
				writeRequest(t, &requests, "JSON by a schema, of a server of type "+s.Name, d, text, "")
			}
		}
		for _, s := range serversOf(d) {
			ask := everything
			ask.Server = s
			writeRequest(t, &requests, "a server of type "+s.Name, d, ask, "")
		}
		golden.Equal(t, filepath.Join("testdata", d.Name, "requests.http"), strings.TrimSuffix(requests.String(), "\n"))
	}
}

// serversOf returns the server types whose API is the dialect unless another is configured, and those that are asked by
// it in a way of their own.
func serversOf(d *Dialect) []Server {
	others := map[*Dialect][]string{
		chat:        {"tgi"},
		completions: {"dynamo", "kserve", "llama-server", "lmdeploy", "sglang", "tgi", "vllm"},
		responses:   {"openai", "vllm", "kserve", "dynamo"},
		anthropic:   {"vllm", "ollama"},
		llama:       {"llama-server"},
	}
	return slices.DeleteFunc(slices.Clone(servers), func(s Server) bool {
		own := s.Dialect == d || s.Dialect == nil && d == chat
		return !own && !slices.Contains(others[d], s.Name)
	})
}

// writeRequest writes a request, and the one that counts its tokens.
func writeRequest(t *testing.T, w *strings.Builder, name string, d *Dialect, a Ask, key string) {
	t.Helper()
	fmt.Fprintf(w, "### %s\nPOST %s\n", name, d.Path(a))
	header := d.Header(key, a.Version)
	for _, field := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(w, "%s: %s\n", field, header[field])
	}
	body, err := d.Body(a)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(w, "\n%s\n\n", fieldPerLine(t, body))
	tokenizer, ok := d.Tokenizer(a.Server)
	if !ok {
		w.WriteString("# no route counts its tokens\n\n")
		return
	}
	body, err = tokenizer.Body(a)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(w, "# its tokens: POST %s %s\n\n", tokenizer.Path, body)
}

// fieldPerLine returns an object with each field on a line of its own.
func fieldPerLine(t *testing.T, object []byte) string {
	t.Helper()
	var fields map[string]json.RawMessage
	err := json.Unmarshal(object, &fields)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		lines = append(lines, fmt.Sprintf("  %q: %s", key, fields[key]))
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n}"
}

// TestTokenCounts holds what the replies of tokenizers say.
func TestTokenCounts(t *testing.T) {
	checkCases(t, "testdata/token-counts.txt", func(reply string) string {
		count := Tokenizer{}.Read([]byte(reply))
		if !count.Known {
			return "unknown"
		}
		return fmt.Sprint(count.N)
	})
}

// TestRejected holds which fields a server complains of, and of which it is asked for next if it complains in the same
// words of a request without them.
func TestRejected(t *testing.T) {
	for _, path := range files(t, "*/rejections.txt") {
		d, err := Lookup(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		checkCases(t, path, func(reply string) string {
			var l words
			var omitted []Field
			for range d.Fields {
				rejected := Rejected(d, []byte(reply), omitted)
				l.add(len(rejected) > 0, "%s", rejected)
				omitted = append(omitted, rejected...)
			}
			return l.String()
		})
	}
}

// TestURL holds where requests go, also from bases that have a path of their own.
func TestURL(t *testing.T) {
	models := &Dialect{Name: "models", Path: fixedPath(ModelsPath)}
	for _, test := range []struct {
		base    string
		dialect *Dialect
		want    string
	}{
		{"http://a", models, "http://a/v1/models"},
		{"http://a/", models, "http://a/v1/models"},
		{"http://a/v1", models, "http://a/v1/models"},
		{"http://a/v1/", models, "http://a/v1/models"},
		{"http://a/openai", models, "http://a/openai/v1/models"},
		{"http://a/openai/v1", models, "http://a/openai/v1/models"},
		{"http://a/serve/llama/v1", models, "http://a/serve/llama/v1/models"},
		{"http://a/serve/llama", models, "http://a/serve/llama/models"},
		{"http://a/v1beta/openai/", models, "http://a/v1beta/openai/models"},
		{"http://a/v1/openai", models, "http://a/v1/openai/models"},
		{"https://a:8443/v1/models", models, "https://a:8443/v1/models/models"},
		{"http://a/openai/deployments/gpt", models, "http://a/openai/deployments/gpt/models"},
		{"https://a/v1beta/openai", chat, "https://a/v1beta/openai/chat/completions"},
		{"https://a/openai/v1", chat, "https://a/openai/v1/chat/completions"}, // Bedrock, Azure
		{"https://a/v1/projects/p/locations/l/endpoints/openapi", chat, // Vertex
			"https://a/v1/projects/p/locations/l/endpoints/openapi/chat/completions"},
		{"https://a/gateway", llama, "https://a/gateway/completion"},
		{"https://a/anthropic", anthropic, "https://a/anthropic/v1/messages"}, // as its own clients have it
		{"https://a/openai/deployments/gpt", chat, "https://a/openai/deployments/gpt/chat/completions"},
		{"https://a/openai/deployments/gpt", azure,
			"https://a/openai/deployments/gpt/chat/completions?api-version=2024-10-21"},
		{"https://a/openai", azure, "https://a/openai/deployments/m/chat/completions?api-version=2024-10-21"},
	} {
		if got := URL(test.base, test.dialect.Path(Ask{Model: "m"})); got != test.want {
			t.Errorf("%s of %s: %s, want %s", test.dialect.Name, test.base, got, test.want)
		}
	}
	want := "https://a:8443/my/chat?api-version=1"
	if got := PathOnHost("https://a:8443/base/v1", "/my/chat", "/x?api-version=1"); got != want {
		t.Errorf("a path of the user's own: %s, want %s", got, want)
	}
}
