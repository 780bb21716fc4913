package probe

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// TestProbesThatLearnOmittedFieldsTogether holds that what one of two probes in flight has learned is not undone by the
// other, is there once, and helps the other, too.
func TestProbesThatLearnOmittedFieldsTogether(t *testing.T) {
	const refusal = `{"message":"[{'type': 'extra_forbidden', 'loc': ('body', 'cache_salt')}]"}`
	late := func(d time.Duration, h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(d)
			h(w, r)
		}
	}
	without := late(5*ms, reply(422, refusal)) // when the other has been sent, too
	ill := reply(400, "not today")
	fine := twoIn(ms).stream
	for name, test := range map[string]struct {
		with, more []http.HandlerFunc // what requests with the field, and those without it, are answered, in their order
		outcomes   []Outcome          // of the probe that began first, and of the other
	}{
		"both learn it": {
			[]http.HandlerFunc{without, without}, []http.HandlerFunc{fine, fine}, []Outcome{OK, OK},
		},
		"it did not help the second, while the first waits for its answer": {
			[]http.HandlerFunc{without, without}, []http.HandlerFunc{late(50*ms, fine), ill}, []Outcome{OK, Rejected},
		},
		"the first was answered before the second was refused": {
			[]http.HandlerFunc{without, late(50*ms, without)}, []http.HandlerFunc{fine, fine}, []Outcome{OK, OK},
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			var mu sync.Mutex // guards both lists
			with, more := test.with, test.more
			next := func(asksForSalt bool) http.HandlerFunc {
				mu.Lock()
				defer mu.Unlock()
				left := &more
				if asksForSalt {
					left = &with
				}
				if len(*left) == 0 {
					t.Error("a request too many")
					return ill
				}
				first := (*left)[0]
				*left = (*left)[1:]
				return first
			}
			m := NewMember(serve(t, func(w http.ResponseWriter, r *http.Request) {
				asksForSalt := strings.Contains(string(must(io.ReadAll(r.Body))), "cache_salt")
				next(asksForSalt)(w, r)
			}), "m", 2)
			ended := make(chan *Result)
			go func() { ended <- m.Probe(t.Context(), question(2)) }()
			time.Sleep(time.Microsecond)
			second := m.Probe(t.Context(), question(2))
			first := <-ended
			equal(t, "outcomes", test.outcomes, []Outcome{first.Outcome, second.Outcome})
			equal(t, "omitted fields", []wire.Field{wire.FieldCacheSalt}, m.Knowledge().Omit)
		})
	}
}
