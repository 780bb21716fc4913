package status

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
)

// mostCards is how many targets have a card each; more are rows of a table, whose names lead to their cards.
const mostCards = 8

// urgency has the states, the most urgent first.
var urgency = []state{failing, hanging, rejected, waiting, fine}

// chosen returns the views that a reader asked for by ?target= and ?state=, the most urgent state first.
func chosen(views []*view, by url.Values) []*view {
	target, wanted := by.Get("target"), by.Get("state")
	views = slices.DeleteFunc(views, func(v *view) bool {
		return target != "" && v.Name != target || wanted != "" && string(v.State) != wanted
	})
	slices.SortStableFunc(views, func(a, b *view) int {
		return cmp.Compare(slices.Index(urgency, a.State), slices.Index(urgency, b.State))
	})
	return views
}

// Worst returns the objective that has spent the largest share of its error budget; nil if none was judged.
func (v *view) Worst() *objective {
	var worst *objective
	spent := func(o *objective) float64 { return (1 - o.Ratio()) / (1 - o.Goal) }
	for i := range v.Objectives {
		o := &v.Objectives[i]
		if o.Total > 0 && (worst == nil || spent(o) > spent(worst)) {
			worst = o
		}
	}
	return worst
}

// Spark returns the E2EL of the last probes as SVG paths, slots wide and 10 high: a line, and a mark for each failure.
func (v *view) Spark() (paths struct{ Line, Failures string }) {
	bars := v.Bars()
	move := "M"
	for i, b := range bars {
		x := slots - len(bars) + i
		if !b.OK() {
			paths.Failures += fmt.Sprintf("M%d.5 0v10", x)
		}
		if !b.OK() || b.E2EL == nil { // read late: its E2EL is unknown
			move = "M"
			continue
		}
		paths.Line += fmt.Sprintf("%s%d.5 %.1f", move, x, 10-9*min(1, *b.E2EL/v.Scales.Bars))
		move = "L"
	}
	return paths
}
