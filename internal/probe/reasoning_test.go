package probe

import (
	"net/http"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// The frames of a model that reasons.
const (
	thought    = `{"choices":[{"index":0,"delta":{"reasoning":"hm"},"finish_reason":null}]}`
	both       = `{"choices":[{"index":0,"delta":{"reasoning":"hm","content":"so"},"finish_reason":null}]}`
	unseen     = `{"choices":[{"index":0,"delta":{"content":"so"},"finish_reason":null}],"usage":{"prompt_tokens":80,"completion_tokens":9}}`
	reasonings = `{"choices":[],"usage":{"prompt_tokens":80,"completion_tokens":10,"completion_tokens_details":{"reasoning_tokens":8}}}`
)

// TestReasoning holds which token is the first, and which the answer's first.
func TestReasoning(t *testing.T) {
	for _, test := range []struct {
		name        string
		script      script
		ttft, ttfat time.Duration // 0: none
		outcome     Outcome
		hidden      bool
	}{
		{"no reasoning", after(9*ms, role).then(ms, token, stop, done), 10 * ms, 10 * ms, OK, false},
		{"reasoning first", after(10*ms, thought).then(20*ms, thought).then(30*ms, token, stop, reasonings, done), 10 * ms, 60 * ms, OK, false},
		{"both in one frame", after(10*ms, both, stop, done), 10 * ms, 10 * ms, OK, false},
		{"nothing but reasoning", after(10*ms, thought, stop, done), 10 * ms, 0, OK, false},
		{"reasoning that no frame shows", after(10*ms, role).then(50*ms, token).then(ms, stop, reasonings, done), 60 * ms, 60 * ms, OK, true},
		{"the same, but usage counts it", after(60*ms, unseen).then(10*ms, stop, reasonings, done), 60 * ms, 60 * ms, OK, true},
		{"nothing but reasoning that no frame shows", after(10*ms, role).then(50*ms, limit, reasonings, done), 0, 0, Empty, true},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			r := probeScript(t, test.script)
			ttft, _ := r.TTFT()
			ttfat, _ := r.TTFAT()
			if ttft != test.ttft || ttfat != test.ttfat || r.Outcome != test.outcome || r.Hidden != test.hidden || r.TTFTValid() == test.hidden {
				t.Errorf("TTFT %v (valid: %t), TTFAT %v, %s, hidden %t; want %+v", ttft, r.TTFTValid(), ttfat, r.Outcome, r.Hidden, test)
			}
		})
	}
}

// TestCacheStates holds what a server's count of cached tokens says of a prompt.
func TestCacheStates(t *testing.T) {
	cold := Expectation{Length: 1000, Fresh: 970}
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
		{"the template", told(1000, 16), cold, CacheCold},
		{"a block more than the template", told(1000, 32), cold, CacheContaminated},
		{"all of it", told(1000, 992), cold, CacheContaminated},
		{"without the prompt's length", wire.Usage{Cached: wire.Tokens(16)}, cold, CacheCold},
		{"an odd length", told(10, 1), cold, CacheContaminated},
		{"as meant", told(1000, 992), Expectation{Length: 1000}, CacheWarm},
		{"not yet, as was meant", told(1000, 0), Expectation{Length: 1000}, CacheCold},
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
		} {
			if got := badStatus(&http.Response{StatusCode: test.status, Header: test.header}, "").retry; got != test.want {
				t.Errorf("%d %v: %v, want %v", test.status, test.header, got, test.want)
			}
		}
	})
}
