package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// A Budget is how many requests may be bad for an objective in a window of time, and how many were.
type Budget struct {
	Attainment

	Limit   Number    `json:"limit_seconds,omitzero"` // 0 for availability
	Window  Number    `json:"window_seconds"`
	Covered Number    `json:"covered_seconds"` // how much of the window has data, in whole hours
	Due     int       `json:"due_requests"`    // in the whole window, at the mean rate of the hours with data
	Spent   Number    `json:"budget_spent"`    // ratio
	Left    Number    `json:"budget_left"`     // ratio, below 0 if it is overspent
	Hours   []BadHour `json:"worst_hours"`     // the worst first
}

// A BadHour is an hour with bad requests.
type BadHour struct {
	Start    time.Time             `json:"start"`
	Bad      int                   `json:"bad_requests"`
	Judged   int                   `json:"judged_requests"`
	Outcomes map[probe.Outcome]int `json:"outcomes"` // of those that failed, without refusals
}

// Settle makes a budget of an objective's name and of all hours of the window, of which the worst five are kept. So many
// requests may be bad that time without data has spent nothing, however many probers there are:
//
//	(1 − goal) × requests judged × window ÷ time with data
func (b *Budget) Settle() {
	b.Objective = probe.Objective{Signal: probe.Signal(b.Objective), Limit: time.Duration(math.Round(float64(b.Limit) * 1e9)), Goal: float64(b.Goal)}.String()
	for _, h := range b.Hours {
		b.Good += h.Judged - h.Bad
		b.Judged += h.Judged
		b.Covered += Number(min(h.Judged, 1) * 3600)
	}
	b.Due = int(math.Round(float64(Number(b.Judged) * b.Window / max(b.Covered, 1))))
	b.Spent = Number(b.Judged-b.Good) / ((1 - b.Goal) * Number(max(b.Due, 1)))
	b.Left = 1 - b.Spent
	b.Hours = slices.DeleteFunc(b.Hours, func(h BadHour) bool { return h.Bad == 0 })
	slices.SortFunc(b.Hours, func(x, y BadHour) int { return cmp.Or(cmp.Compare(y.Bad, x.Bad), y.Start.Compare(x.Start)) })
	b.Hours = slices.Clip(b.Hours[:min(len(b.Hours), 5)])
}

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
