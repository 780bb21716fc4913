package probe

import (
	"net/http"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// TestCacheStates holds what a server's count of cached tokens says of a prompt.
func TestCacheStates(t *testing.T) {
	cold := Expectation{Length: 1000, Fresh: 970, CacheCounts: true}
	doubtful := Expectation{Length: 1000, Fresh: 970}
	warm := Expectation{Length: 1000, CacheCounts: true}
	told := func(prompt, cached int) wire.Usage {
		return wire.Usage{Prompt: wire.Tokens(prompt), Cached: wire.Tokens(cached)}
	}
	for _, test := range []struct {
		name  string
		usage wire.Usage
		ask   Expectation
		want  CacheState
	}{
		{"not told", wire.Usage{Prompt: wire.Tokens(1000)}, cold, CacheUnknown},
		{"nothing", told(1000, 0), cold, CacheCold},
		{"a 0 of a server that may never count", told(1000, 0), doubtful, CacheUnknown},
		{"its first count", told(1000, 992), doubtful, CacheContaminated},
		{"its first count of a warm prompt", told(1000, 992), Expectation{Length: 1000}, CacheWarm},
		{"the template", told(1000, 16), cold, CacheCold},
		{"all that is not fresh", told(1000, 30), cold, CacheCold},
		{"a token more than that", told(1000, 31), cold, CacheContaminated},
		{"all of it", told(1000, 992), cold, CacheContaminated},
		{"without the prompt's length", wire.Usage{Cached: wire.Tokens(16)}, cold, CacheCold},
		{"an odd length", told(10, 1), cold, CacheContaminated},
		{"as meant", told(1000, 992), warm, CacheWarm},
		{"not yet, as was meant", told(1000, 0), warm, CacheCold},
	} {
		if got := cacheState(test.usage, test.ask); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestRetryAfter holds the forms of a pause.
func TestRetryAfter(t *testing.T) {
	inBubble(t, "forms", func(t *testing.T) {
		soon := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
		for _, test := range []struct {
			status int
			header http.Header
			want   time.Duration
		}{
			{429, http.Header{"Retry-After": {"5"}}, 5 * time.Second},
			{503, http.Header{"Retry-After": {" 2.5 "}}, 2500 * ms},
			{529, http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"40"}}, 40 * ms},
			{429, http.Header{"Retry-After": {soon}}, 90 * time.Second},
			{429, http.Header{"Retry-After": {"Mon, 02 Jan 1995 15:04:05 GMT"}}, 0},
			{429, http.Header{"Retry-After": {"1e300"}}, 365 * 24 * time.Hour},
			{429, http.Header{"Retry-After": {"-5"}}, 0},
			{429, http.Header{"Retry-After": {"NaN"}}, 0},
			{429, http.Header{"Retry-After": {"soon"}}, 0},
			{429, nil, 0},
			{500, http.Header{"Retry-After": {"5"}}, 0},
			{503, http.Header{"Retry-After": {"5"}, "Server": {"Caddy"}}, 5 * time.Second}, // it has no server left to ask
		} {
			if got := badStatus(&http.Response{StatusCode: test.status, Header: test.header}, nil).retry; got != test.want {
				t.Errorf("%d %v: %v, want %v", test.status, test.header, got, test.want)
			}
		}
	})
}
