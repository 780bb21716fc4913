package status

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// maxCards is how many targets are shown as cards. More are rows of a table, in which each name is a link to a card.
const maxCards = 8

// urgency lists the states, the most urgent first.
var urgency = []state{stateFailing, stateHanging, stateRejected, stateDegraded, stateWaiting, stateOK, stateDisabled}

// defaultOrder is the key of the column by which targets are ordered if the reader chooses none.
const defaultOrder = "state"

// A column is a column of the table of targets. Its title is a link that orders the table by it. A target without a
// value is the last one, also if the order is reversed. One of text and number is nil.
type column struct {
	Key   string // in addresses
	Title string
	About string // what the title stands for; empty if it says so itself

	text      func(*view) string  // empty without a value
	number    func(*view) float64 // NaN without a value
	isFalling bool                // the highest number is the first
}

// columnsOf returns the columns of a table of targets. It leaves out what no target has, and TPOT if all that have it
// have ITL as well: they are nearly the same.
func columnsOf(views []*view) []column {
	list := []column{
		{
			Key: "state", Title: "state",
			number: func(v *view) float64 { return float64(slices.Index(urgency, v.State)) },
		},
		{
			Key: "since", Title: "since", About: "how long it has been in its state; the newest state is the first",
			number: func(v *view) float64 { return float64(v.Since.UnixNano()) }, isFalling: true,
		},
		{Key: "target", Title: "target", text: func(v *view) string { return v.Name }},
	}
	if slices.ContainsFunc(views, func(v *view) bool { return v.SharedGroup() != "" }) {
		list = append(list, column{Key: "group", Title: "group", text: (*view).SharedGroup})
	}
	for _, name := range labelNames(views) {
		list = append(list, column{Key: "label:" + name, Title: name, text: func(v *view) string { return v.Labels[name] }})
	}
	list = append(list, latencyColumn("ttft", "TTFT", "time to first token",
		func(q allQuantiles) quantiles { return q.TTFT }))
	if slices.ContainsFunc(views, func(v *view) bool { return v.Quantiles.TPOT.N > 0 && v.Quantiles.ITL.N == 0 }) {
		list = append(list, latencyColumn("tpot", "TPOT", "time per output token",
			func(q allQuantiles) quantiles { return q.TPOT }))
	}
	return append(list,
		latencyColumn("itl", "ITL", "inter-token latency", func(q allQuantiles) quantiles { return q.ITL }),
		column{
			Key: "objective", Title: "worst objective", About: "the one that has spent most of its error budget",
			number: (*view).spent, isFalling: true,
		},
		latencyColumn("e2el", "E2EL", "end-to-end latency of the last 40 probes; a mark is a failure",
			func(q allQuantiles) quantiles { return q.E2EL }),
	)
}

// latencyColumn returns the column of a latency, with the highest median first.
func latencyColumn(key, title, about string, of func(allQuantiles) quantiles) column {
	return column{
		Key: key, Title: title, About: about, isFalling: true,
		number: func(v *view) float64 { return float64(of(v.Quantiles).P50) },
	}
}

// IsText reports whether the column has texts, which stand at its left.
func (c column) IsText() bool { return c.text != nil }

// columnOf returns the column with a key, or that of the default order if there is none.
func columnOf(columns []column, key string) column {
	at := slices.IndexFunc(columns, func(c column) bool { return c.Key == key })
	if at < 0 {
		return columnOf(columns, defaultOrder)
	}
	return columns[at]
}

// compare returns a negative number if the row of a stands before that of b, and 0 if it does not matter.
func (c column) compare(a, b *view, isReversed bool) int {
	order := 0
	if c.text != nil {
		x, y := c.text(a), c.text(b)
		if x == "" || y == "" {
			return cmp.Compare(y, x)
		}
		order = cmp.Compare(x, y)
	} else {
		x, y := c.number(a), c.number(b)
		if math.IsNaN(x) || math.IsNaN(y) {
			return cmp.Compare(y, x) // NaN is below all numbers
		}
		order = cmp.Compare(x, y)
	}
	if c.isFalling != isReversed {
		return -order
	}
	return order
}

// Direction returns how the table is sorted by the column, as ARIA says it; empty if it is not.
func (c column) Direction(s selection) string {
	direction := map[bool]string{false: "ascending", true: "descending"}
	switch cmp.Or(s.Order, defaultOrder) {
	case c.Key:
		return direction[c.isFalling]
	case "-" + c.Key:
		return direction[!c.isFalling]
	}
	return ""
}

// labelNames returns the names of the labels that targets have, in the order of the alphabet.
func labelNames(views []*view) (names []string) {
	for _, v := range views {
		for name := range v.Labels {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A label is a label of a target that has a value.
type label struct{ Name, Value string }

// LabelList returns the labels of the target that have a value, in the order of their names.
func (v *view) LabelList() (list []label) {
	for _, name := range labelNames([]*view{v}) {
		if v.Labels[name] != "" {
			list = append(list, label{name, v.Labels[name]})
		}
	}
	return list
}

// SharedGroup returns the group of the target; empty if it is a group by itself, which has the target's name.
func (v *view) SharedGroup() string {
	if v.Group == v.Name {
		return ""
	}
	return v.Group
}

// Worst returns the objective that has spent the largest share of its error budget; nil if none was judged, or if the
// target is disabled.
func (v *view) Worst() *objective {
	if v.State == stateDisabled {
		return nil
	}
	var worst *objective
	for i := range v.Objectives {
		o := &v.Objectives[i]
		if o.Total > 0 && (worst == nil || o.spent() > worst.spent()) {
			worst = o
		}
	}
	return worst
}

// spent returns the share of the error budget that the worst objective has spent; NaN if none was judged.
func (v *view) spent() float64 {
	worst := v.Worst()
	if worst == nil {
		return math.NaN()
	}
	return worst.spent()
}

// spent returns the share of the error budget that the results in the window have spent. At least one was judged.
func (o *objective) spent() float64 { return (1 - o.Ratio()) / (1 - o.Goal) }

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
