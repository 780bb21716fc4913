package probe

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMembersRestAsAsked holds that a server which turns probes away is left
// alone for as long as it asks, up to the limit, while the others are probed, and
// that the slots it goes without are counted.
func TestMembersRestAsAsked(t *testing.T) {
	tests := []struct {
		name       string
		retryAfter string
		limit      time.Duration
		want       []string // of the busy member, by slot
	}{
		{"for 25 seconds", "25", time.Minute, []string{"rate_limited", "backoff", "backoff", "rate_limited", "backoff", "backoff"}},
		{"up to the limit", "3600", 12 * time.Second, []string{"rate_limited", "backoff", "rate_limited", "backoff", "rate_limited", "backoff"}},
		{"not at all", "25", 0, slices.Repeat([]string{"rate_limited"}, 6)},
		{"not asked to", "", time.Minute, slices.Repeat([]string{"rate_limited"}, 6)},
	}
	for _, test := range tests {
		inBubble(t, test.name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.retryAfter != "" {
					w.Header().Set("Retry-After", test.retryAfter)
				}
				w.WriteHeader(http.StatusTooManyRequests)
			})
			target.Name, target.Backoff = "busy", test.limit
			var busy, well []string
			of := map[string]*[]string{"busy": &busy, "well": &well}
			g := newGroup(&log{}, NewMember(target, "m", 1, nil), newMember(t, "well", answer(ms), nil))
			g.Record = func(r *Result) { *of[r.Target] = append(*of[r.Target], string(r.Outcome)) }
			g.Skipped = func(target string, reason Skip) { *of[target] = append(*of[target], string(reason)) }
			start := time.Now()
			for n := range uint64(6) {
				due := start.Add(time.Duration(n) * g.Interval)
				time.Sleep(time.Until(due))
				g.Round(t.Context(), t.Context(), n, due)
			}
			if diff := cmp.Diff(test.want, busy); diff != "" {
				t.Errorf("busy (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(slices.Repeat([]string{"ok"}, 6), well); diff != "" {
				t.Errorf("well (-want +got):\n%s", diff)
			}
		})
	}
}
