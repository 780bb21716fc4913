package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
)

// A Budget is how many requests may be bad for an objective in a window of time, and how many were. Only stored data
// has one.
type Budget struct {
	Attainment

	Limit   stats.Number `json:"limit_seconds,omitzero"` // 0 for availability
	Window  stats.Number `json:"window_seconds"`
	Covered stats.Number `json:"covered_seconds"` // how much of the window has data, in whole hours
	Due     int          `json:"due_requests"`    // in the whole window, at the mean rate of the hours with data
	Spent   stats.Number `json:"budget_spent"`    // ratio
	Left    stats.Number `json:"budget_left"`     // ratio, below 0 if the budget is overspent
	Hours   []BadHour    `json:"worst_hours"`     // the five worst, the worst first
}

// A BadHour is an hour with bad requests.
type BadHour struct {
	Start    time.Time             `json:"start"`
	Bad      int                   `json:"bad_requests"`
	Judged   int                   `json:"judged_requests"`
	Outcomes map[probe.Outcome]int `json:"outcomes"` // of those that failed, without refusals that do not count
}

// text returns an error budget in a line, and a line for each of its worst hours.
func (b Budget) text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Error budget of %s over %s (%s with data): %s spent, %s left; good: %s\n",
		b.Objective, windowLength(b.Window), windowLength(b.Covered),
		format.Percent(float64(b.Spent)), format.Percent(float64(b.Left)), b.share())
	for _, hour := range b.Hours {
		text.WriteString(hour.text() + "\n")
	}
	return text.String()
}

// windowLength writes a length of time in hours, or from two days on in days.
func windowLength(seconds stats.Number) string {
	const hour, day = 3600, 86400
	if seconds < 2*day {
		return format.Count(int(seconds/hour), "hour")
	}
	return fmt.Sprintf("%.4g days", seconds/day)
}

// text returns h in a line, with the outcomes of requests that failed.
func (h BadHour) text() string {
	start := h.Start.UTC().Format("2006-01-02 15:04 UTC")
	text := fmt.Sprintf("  hour from %s: %d of %d bad", start, h.Bad, h.Judged)
	var failed []string
	for _, o := range slices.Sorted(maps.Keys(h.Outcomes)) {
		failed = append(failed, fmt.Sprintf("%s %d", o, h.Outcomes[o]))
	}
	if failed != nil {
		text += ": " + strings.Join(failed, ", ")
	}
	return text
}
