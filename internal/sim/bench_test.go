package sim

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// nowhere takes an answer and drops it.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) WriteHeader(int)             {}
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) Flush()                      {}

// BenchmarkFrame is what a token costs besides its Write: encoding, and writing down.
func BenchmarkFrame(b *testing.B) {
	const tokens = 1000
	s := New(Config{Profile: Profile{API: styleOpenAI, Model: "m"}})
	defer s.Close()
	body := strings.Replace(chatFour, `"max_tokens":4`, `"max_tokens":1000`, 1)
	b.ReportAllocs()
	for n := 0; n < b.N; n += tokens {
		s.ServeHTTP(nowhere{http.Header{}}, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(strings.Replace(body, "{", `{"model":"m",`, 1))))
	}
	if sent := s.Sent(); len(sent) == 0 || sent[0].Output != tokens {
		b.Fatalf("%d answers", len(sent))
	}
}
