package status

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// TestNotable holds which results are worth a look, on both sides of each limit, and that their page says why.
func TestNotable(t *testing.T) {
	objectives := []probe.Objective{
		{Name: "fast", Signal: probe.SignalTTFT, Limit: 200 * ms, Goal: 0.9},
		{Signal: probe.SignalTPOT, Limit: 21 * ms, Goal: 0.9},
		{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.9},
	}
	for _, test := range []struct {
		before string // results, by their letters
		letter string
		want   string
		onPage string
	}{
		{"19u", "t", "missed_fast", "missed fast"}, // the usual is not known yet
		{"20u", "u", "", ""},
		{"20u", "n", "", ""},
		{"20u", "t", "slow_ttft missed_fast", "slow ttft, missed fast"},
		{"20u", "i", "slow_itl", "slow itl"},
		{"20u", "p", "slow_tpot missed_tpot", "slow tpot, missed tpot"},
		{"20b", "c", "", ""},
		{"20u", "m", "missed_fast missed_tpot", "missed fast, missed tpot"},
		{"20u", "x", "overloaded", ""},
		{"20u", "w", "wrong_answer", ""},
		{"20t", "u", "", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newTestBoard()
			b.Set(probe.Description{Name: "a", Prompt: "cold", Interval: 10 * time.Second, Objectives: objectives})
			replay(b, 10*time.Second, test.before+" "+test.letter)
			last := b.views()[0].Last
			equal(t, test.letter+" after "+test.before, strings.Join(last.Notable, " "), test.want)
			page := textOf(get(t, b, "/probes/"+last.TraceID).Body.String())
			_, shown, _ := strings.Cut(page, "notable\n")
			shown, _, _ = strings.Cut(shown, "\n")
			equal(t, "page of "+test.letter, shown, test.onPage)
		})
	}
}
