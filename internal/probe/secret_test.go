package probe

import (
	"errors"
	"net/http"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// TestWhatErrorsHide holds which values of headers are taken for secrets: credentials, whatever the header, and no
// ordinary words.
func TestWhatErrorsHide(t *testing.T) {
	for _, test := range []struct{ header, value, text, want string }{
		{"X-Team", "search, server", "server error: search is down", "server error: search is down"},
		{"X-Portkey-Provider", "openai", "openai error: Invalid URL", "openai error: Invalid URL"},
		{"X-Gateway-Model-Name", "llama-3.1-8b", "no model llama-3.1-8b", "no model llama-3.1-8b"},
		{"Authorization", "Bearer sesame", "Bearer sesame is wrong", "Bearer *** is wrong"},
		{"Proxy-Authorization", "Basic c2VzYW1l", "bad c2VzYW1l", "bad ***"},
		{"X-Api-Key", "sesame", "key sesame is unknown", "key *** is unknown"},
		{"Apikey", "sesame", "key sesame is unknown", "key *** is unknown"},
		{"X-Amz-Security-Token", "sesame", "token sesame", "token ***"},
		{"X-Vault_Secret", "sesame", "sesame?", "***?"},
		{"Cookie", "sid=sesame; theme=dark", "bad sid=sesame, theme=dark", "bad sid=***, theme=dark"},
		{"X-Portkey-Config", `{"provider":"openai","api_key":"sk-a1b2c3d4e5f6a7b8"}`,
			"openai says: sk-a1b2c3d4e5f6a7b8", "openai says: ***"},
	} {
		target := Target{Header: http.Header{test.header: {test.value}}}
		if got := target.scrub(errors.New(test.text), wire.Ask{}); got.Error() != test.want {
			t.Errorf("%s: %q: %q, want %q", test.header, test.value, got, test.want)
		}
	}
}
