package status

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"
)

// A selection says which targets a reader wants to see and in which order. It is the query of the page's address.
// Unknown parameters, states and orders are ignored, as in Prometheus.
type selection struct {
	Target string   // name
	State  string   // see [state]
	Group  string   // name
	Labels []string // each a name and a value, "team:search": a target must have all of them
	Text   string   // words, each of which must be somewhere in what is shown of a target
	Order  string   // key of a column; with a minus before it, its order is reversed
}

// selectionOf reads a query.
func selectionOf(query url.Values) selection {
	return selection{
		Target: query.Get("target"),
		State:  query.Get("state"),
		Group:  query.Get("group"),
		Labels: slices.DeleteFunc(slices.Clone(query["label"]), func(label string) bool { return label == "" }),
		Text:   strings.TrimSpace(query.Get("q")),
		Order:  query.Get("sort"),
	}
}

// Link returns the address of the page with this selection, relative to the page.
func (s selection) Link() string {
	query := url.Values{}
	for name, value := range map[string]string{
		"target": s.Target, "state": s.State, "group": s.Group, "q": s.Text, "sort": s.Order,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(s.Labels) > 0 {
		query["label"] = s.Labels
	}
	if len(query) == 0 {
		return "./"
	}
	return "?" + query.Encode()
}

// WithState returns the address of the page with another state, or with any state if it is that of s.
func (s selection) WithState(wanted state) string {
	if s.State == string(wanted) {
		wanted = ""
	}
	s.State = string(wanted)
	return s.Link()
}

// WithOrder returns the address of the page in the order of a column. If it is in that order, it is reversed.
func (s selection) WithOrder(c column) string {
	if cmp.Or(s.Order, defaultOrder) == c.Key {
		s.Order = "-" + c.Key
	} else {
		s.Order = c.Key
	}
	return s.Link()
}

// choose returns the targets that the reader wants to see, in the order of one of the columns. Of targets that are
// equal by it the most urgent is the first. It may change the list.
func (s selection) choose(views []*view, all []column) []*view {
	views = slices.DeleteFunc(views, func(v *view) bool { return !s.wants(v) })
	key, isReversed := strings.CutPrefix(s.Order, "-")
	byState := columnOf(all, defaultOrder)
	chosen := columnOf(all, key)
	slices.SortStableFunc(views, func(a, b *view) int {
		return cmp.Or(chosen.compare(a, b, isReversed), byState.compare(a, b, false))
	})
	return views
}

// wants reports whether a target is one that the reader wants to see.
func (s selection) wants(v *view) bool {
	t := v.Target
	hasOtherName := s.Target != "" && s.Target != t.Name
	isInOtherGroup := s.Group != "" && s.Group != t.Group
	isInOtherState := slices.Contains(urgency, state(s.State)) && s.State != string(v.State)
	if hasOtherName || isInOtherGroup || isInOtherState {
		return false
	}
	for _, label := range s.Labels {
		name, value, _ := strings.Cut(label, ":")
		if t.Labels[name] != value {
			return false
		}
	}
	shown := []string{t.Name, t.Group, t.Model, t.API, t.URL, t.Prompt, t.Server, t.Version, v.State.Words()}
	shown = append(shown, v.Why()...)
	if v.Last != nil {
		shown = append(shown, string(v.Last.Outcome))
	}
	for name, value := range t.Labels {
		shown = append(shown, name+":"+value)
	}
	text := strings.ToLower(strings.Join(shown, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(s.Text)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// A choice is a parameter of which the reader chooses one of several values.
type choice struct {
	Name    string // of the parameter
	Title   string // what is chosen
	Options []option
}

// An option is a value of a choice.
type option struct {
	Value, Text string
	IsChosen    bool
}

// choices returns what a reader can choose to see fewer targets than these, besides a state: a group, and a value of
// each label. It leaves out what has only one value.
func (s selection) choices(views []*view) (list []choice) {
	groups := choice{Name: "group", Title: "group"}
	for _, value := range valuesOf(views, (*view).SharedGroup) {
		groups.Options = append(groups.Options, option{Value: value, Text: value, IsChosen: s.Group == value})
	}
	list = append(list, groups)
	for _, name := range labelNames(views) {
		values := choice{Name: "label", Title: name}
		for _, text := range valuesOf(views, func(v *view) string { return v.Target.Labels[name] }) {
			value := name + ":" + text
			chosen := slices.Contains(s.Labels, value)
			values.Options = append(values.Options, option{Value: value, Text: text, IsChosen: chosen})
		}
		list = append(list, values)
	}
	return slices.DeleteFunc(list, func(c choice) bool { return len(c.Options) < 2 })
}

// valuesOf returns the values of targets that are not empty, each once and in the order of the alphabet.
func valuesOf(views []*view, valueOf func(*view) string) (list []string) {
	for _, v := range views {
		value := valueOf(v)
		if value != "" {
			list = append(list, value)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// labelNames returns the names of the labels that targets have, in the order of the alphabet.
func labelNames(views []*view) (names []string) {
	for _, v := range views {
		for name := range v.Target.Labels {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// defaultOrder is the key of the column by which targets are ordered if the reader chooses none.
const defaultOrder = "state"

// A column is a column of the table of targets. Its title is a link that orders the table by it. A target without a
// value is the last one, even if the order is reversed. One of text and number is nil.
type column struct {
	Key   string // in addresses
	Title string
	About string // what the title stands for; empty if it says so itself

	text      func(*view) string  // empty without a value
	number    func(*view) float64 // NaN without a value
	isFalling bool                // the highest number is the first
}

// columnsOf returns the columns of a table of targets. It leaves out what no target has. It leaves out TPOT if every
// target with TPOT has ITL as well: they are nearly the same.
func columnsOf(views []*view) []column {
	list := []column{
		{
			Key: "state", Title: "state",
			number: func(v *view) float64 { return float64(slices.Index(urgency, v.State)) },
		},
		{
			Key: "since", Title: "since", About: "how long it has been in this state; the newest change is the first",
			number: func(v *view) float64 { return float64(v.Since.UnixNano()) }, isFalling: true,
		},
		{Key: "target", Title: "target", text: func(v *view) string { return v.Target.Name }},
	}
	if slices.ContainsFunc(views, func(v *view) bool { return v.SharedGroup() != "" }) {
		list = append(list, column{Key: "group", Title: "group", text: (*view).SharedGroup})
	}
	for _, name := range labelNames(views) {
		valueOf := func(v *view) string { return v.Target.Labels[name] }
		list = append(list, column{Key: "label:" + name, Title: name, text: valueOf})
	}
	list = append(list, column{
		Key: "ttft", Title: "TTFT", About: "time to first token", isFalling: true,
		number: func(v *view) float64 { return float64(v.Latencies.TTFT.P50) },
	})
	if slices.ContainsFunc(views, func(v *view) bool { return v.Latencies.TPOT.N > 0 && v.Latencies.ITL.N == 0 }) {
		list = append(list, column{
			Key: "tpot", Title: "TPOT", About: "time per output token", isFalling: true,
			number: func(v *view) float64 { return float64(v.Latencies.TPOT.P50) },
		})
	}
	return append(list,
		column{
			Key: "itl", Title: "ITL", About: "inter-token latency", isFalling: true,
			number: func(v *view) float64 { return float64(v.Latencies.ITL.P50) },
		},
		column{
			Key: "e2el", Title: "E2EL", isFalling: true,
			About:  "end-to-end latency, and that of the last 40 probes as a line; a mark is a failure",
			number: func(v *view) float64 { return float64(v.Latencies.E2EL.P50) },
		},
		column{
			Key: "objective", Title: "worst objective", isFalling: true,
			About: "the one that has spent most of its error budget",
			number: func(v *view) float64 {
				worst := v.Worst()
				if worst == nil {
					return math.NaN()
				}
				return worst.spent()
			},
		},
	)
}

// columnOf returns the column with a key, or that of the default order if there is none.
func columnOf(columns []column, key string) column {
	at := slices.IndexFunc(columns, func(c column) bool { return c.Key == key })
	if at < 0 {
		at = slices.IndexFunc(columns, func(c column) bool { return c.Key == defaultOrder })
	}
	return columns[at]
}

// IsText reports whether the column has texts, which stand at its left.
func (c column) IsText() bool { return c.text != nil }

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
	isFalling := c.isFalling
	switch cmp.Or(s.Order, defaultOrder) {
	case c.Key:
	case "-" + c.Key:
		isFalling = !isFalling
	default:
		return ""
	}
	if isFalling {
		return "descending"
	}
	return "ascending"
}
