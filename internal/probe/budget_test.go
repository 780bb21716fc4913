package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// TestBudgetPaysForWhatWasSent holds that a probe which never got to the server costs nothing, and that a request from
// before midnight does not throw away what is spent of the new day.
func TestBudgetPaysForWhatWasSent(t *testing.T) {
	inBubble(t, "budget", func(t *testing.T) {
		target := newTarget(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") })
		target.DayLimit = 100
		m := NewMember(target, "m", 1)
		for range 3 {
			r, ok := m.ProbeWithinBudget(t.Context(), Question{Ask: wire.Ask{MaxTokens: 20}, Tokens: 80})
			if !ok || r.Outcome != Connect {
				t.Fatalf("within the budget: %t, %v", ok, r)
			}
		}
	})
}

// TestADayOfTheBudget holds which requests count together: those of a day of UTC, whatever happens around midnight and
// to the clock. Each step spends 60 of 100 tokens, or gives back what an earlier step has spent.
func TestADayOfTheBudget(t *testing.T) {
	const hour = time.Hour
	type step struct {
		at     time.Duration // after midnight
		result string
	}
	for name, steps := range map[string][]step{
		"a day and the next":                      {{0, "spent"}, {23 * hour, "refused"}, {24 * hour, "spent"}},
		"begun before midnight, and counted late": {{0, "spent"}, {-time.Second, "refused"}, {time.Second, "refused"}},
		"the clock was a day ahead":               {{36 * hour, "spent"}, {12 * hour, "spent"}, {36 * hour, "spent"}},
		"the clock was a year ahead":              {{8760 * hour, "spent"}, {12 * hour, "spent"}, {13 * hour, "refused"}},
		"given back":                              {{0, "spent"}, {0, "returned"}, {hour, "spent"}, {2 * hour, "refused"}},
		"given back the day after": {
			{0, "spent"}, {24 * hour, "spent"}, {0, "returned"}, {25 * hour, "refused"},
		},
		"counted late, and given back": {
			{0, "spent"}, {0, "returned"}, {-time.Second, "spent"}, {-time.Second, "returned"}, {0, "spent"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b Budget
			midnight := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
			days := map[time.Duration]time.Time{} // that the steps were counted of
			for i, s := range steps {
				got := s.result
				if s.result == "returned" {
					b.Return(days[s.at], 60)
				} else {
					day, ok := b.Reserve(midnight.Add(s.at), 60, 100)
					days[s.at] = day
					got = map[bool]string{true: "spent", false: "refused"}[ok]
				}
				equal(t, fmt.Sprintf("step %d", i), s.result, got)
			}
		})
	}
}
