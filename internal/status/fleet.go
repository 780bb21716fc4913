package status

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
)

// maxCards is how many targets are shown as cards. More are rows of a table, in which each name is a link to a card.
const maxCards = 8

// urgency lists the states, the most urgent first.
var urgency = []state{stateFailing, stateHanging, stateRejected, stateWaiting, stateOK}

// choose returns the views that the parameters target and state ask for, the most urgent first. It may change the list.
func choose(views []*view, parameters url.Values) []*view {
	target := parameters.Get("target")
	wantedState := parameters.Get("state")
	views = slices.DeleteFunc(views, func(v *view) bool {
		isOther := target != "" && v.Name != target
		isInOtherState := wantedState != "" && string(v.State) != wantedState
		return isOther || isInOtherState
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

// Spark returns the E2EL of the last probes as two SVG paths that are slots wide and 10 high: a line, and a mark for
// each failure.
func (v *view) Spark() (paths struct{ Line, Failures string }) {
	bars := v.Bars()
	move := "M"
	for i, b := range bars {
		x := slots - len(bars) + i
		if !b.OK() {
			paths.Failures += fmt.Sprintf("M%d.5 0v10", x)
		}
		if b.E2EL == nil { // the probe failed, or its end was read too late
			move = "M"
			continue
		}
		paths.Line += fmt.Sprintf("%s%d.5 %.1f", move, x, 10-9*min(1, *b.E2EL/v.Scales.Bars))
		move = "L"
	}
	return paths
}
