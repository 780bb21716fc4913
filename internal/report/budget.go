package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// A Budget is how many requests may be bad for an objective in a window of time, and how many were. Only stored data
// has one.
type Budget struct {
	Attainment

	Limit   Number    `json:"limit_seconds,omitzero"` // 0 for availability
	Window  Number    `json:"window_seconds"`
	Covered Number    `json:"covered_seconds"` // how much of the window has data, in whole hours
	Due     int       `json:"due_requests"`    // in the whole window, at the mean rate of the hours with data
	Spent   Number    `json:"budget_spent"`    // ratio
	Left    Number    `json:"budget_left"`     // ratio, below 0 if it is overspent
	Hours   []BadHour `json:"worst_hours"`     // the worst five, the worst first
}

// A BadHour is an hour with bad requests.
type BadHour struct {
	Start    time.Time             `json:"start"`
	Bad      int                   `json:"bad_requests"`
	Judged   int                   `json:"judged_requests"`
	Outcomes map[probe.Outcome]int `json:"outcomes"` // of those that failed, without refusals
}

// budget writes an error budget and its worst hours.
func (b *block) budget(of Budget) {
	length := func(n Number) string {
		if n < 2*86400 {
			return format.Count(int(n/3600), "hour")
		}
		return fmt.Sprintf("%.4g days", n/86400)
	}
	fmt.Fprintf(b, "Error budget of %s over %s (%s with data): %s spent, %s left; good: %s\n", of.Objective,
		length(of.Window), length(of.Covered), format.Percent(float64(of.Spent)), format.Percent(float64(of.Left)), of.share())
	for _, h := range of.Hours {
		var failed []string
		for _, o := range slices.Sorted(maps.Keys(h.Outcomes)) {
			failed = append(failed, fmt.Sprintf("%s %d", o, h.Outcomes[o]))
		}
		text := fmt.Sprintf("  hour from %s: %d of %d bad: ", h.Start.UTC().Format("2006-01-02 15:04 UTC"), h.Bad, h.Judged)
		b.WriteString(strings.TrimSuffix(text+strings.Join(failed, ", "), ": ") + "\n")
	}
}
