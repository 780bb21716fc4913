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
	Prompt string   // name: each target is shown with nothing but this prompt
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
		Prompt: query.Get("prompt"),
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
		"target": s.Target, "prompt": s.Prompt, "state": s.State, "group": s.Group, "q": s.Text, "sort": s.Order,
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

// narrow returns targets with nothing but the prompt that the reader wants to see: all of them, or those that have it.
func (s selection) narrow(targets []*targetView, links Links) (narrowed []*targetView) {
	if s.Prompt == "" {
		return targets
	}
	for _, t := range targets {
		t, ok := t.withPrompt(s.Prompt, links)
		if ok {
			narrowed = append(narrowed, t)
		}
	}
	return narrowed
}

// choose returns the targets that the reader wants to see, in the order of one of the columns. Of targets that are
// equal by it the most urgent is the first. It may change the list.
func (s selection) choose(targets []*targetView, all []column) []*targetView {
	targets = slices.DeleteFunc(targets, func(t *targetView) bool { return !s.wants(t) })
	key, isReversed := strings.CutPrefix(s.Order, "-")
	byState := columnOf(all, defaultOrder)
	chosen := columnOf(all, key)
	slices.SortStableFunc(targets, func(a, b *targetView) int {
		return cmp.Or(chosen.compare(a, b, isReversed), byState.compare(a, b, false))
	})
	return targets
}

// wants reports whether a target is one that the reader wants to see.
func (s selection) wants(t *targetView) bool {
	d := t.Target
	hasOtherName := s.Target != "" && s.Target != d.Name
	isInOtherGroup := s.Group != "" && s.Group != d.Group
	isInOtherState := slices.Contains(urgency, state(s.State)) && s.State != string(t.State)
	if hasOtherName || isInOtherGroup || isInOtherState {
		return false
	}
	for _, label := range s.Labels {
		name, value, _ := strings.Cut(label, ":")
		if d.Labels[name] != value {
			return false
		}
	}
	shown := []string{d.Name, d.Group, d.Model, d.API, d.URL, d.Server, d.Version, t.State.Words()}
	shown = append(shown, t.Why()...)
	for _, p := range t.Prompts {
		shown = append(shown, p.Target.Prompt)
		if p.Last != nil {
			shown = append(shown, string(p.Last.Outcome))
		}
	}
	for name, value := range d.Labels {
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

// choices returns what a reader can choose to see less than these targets, besides a state: a group, a prompt of those
// that have several, and a value of each label. It leaves out what has only one value.
func (s selection) choices(targets []*targetView) (list []choice) {
	groups := choice{Name: "group", Title: "group"}
	for _, value := range valuesOf(targets, (*targetView).SharedGroup) {
		groups.Options = append(groups.Options, option{Value: value, Text: value, IsChosen: s.Group == value})
	}
	prompts := choice{Name: "prompt", Title: "prompt"}
	for _, value := range promptNames(targets) {
		prompts.Options = append(prompts.Options, option{Value: value, Text: value, IsChosen: s.Prompt == value})
	}
	list = append(list, groups, prompts)
	for _, name := range labelNames(targets) {
		values := choice{Name: "label", Title: name}
		for _, text := range valuesOf(targets, func(t *targetView) string { return t.Target.Labels[name] }) {
			value := name + ":" + text
			chosen := slices.Contains(s.Labels, value)
			values.Options = append(values.Options, option{Value: value, Text: text, IsChosen: chosen})
		}
		list = append(list, values)
	}
	return slices.DeleteFunc(list, func(c choice) bool { return len(c.Options) < 2 })
}

// valuesOf returns the values of targets that are not empty, each once and in the order of the alphabet.
func valuesOf(targets []*targetView, valueOf func(*targetView) string) (list []string) {
	for _, t := range targets {
		value := valueOf(t)
		if value != "" {
			list = append(list, value)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// promptNames returns the names of the prompts of targets that have several, in the order of the alphabet.
func promptNames(targets []*targetView) (names []string) {
	for _, t := range targets {
		if t.Only() != nil {
			continue
		}
		for _, p := range t.Prompts {
			names = append(names, p.Target.Prompt)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// labelNames returns the names of the labels that targets have, in the order of the alphabet.
func labelNames(targets []*targetView) (names []string) {
	for _, t := range targets {
		for name := range t.Target.Labels {
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

	text      func(*targetView) string  // empty without a value
	number    func(*targetView) float64 // NaN without a value
	isFalling bool                      // the highest number is the first
}

// columnsOf returns the columns of a table of targets. It leaves out what no target has. It leaves out TPOT if every
// target with TPOT has ITL as well: they are nearly the same.
func columnsOf(targets []*targetView) []column {
	list := []column{
		{
			Key: "state", Title: "state",
			number: func(t *targetView) float64 {
				place := float64(slices.Index(urgency, t.State))
				if len(t.affected()) < len(t.Prompts) {
					place += 0.5 // after those of which all prompts are in this state
				}
				return place
			},
		},
		{
			Key: "since", Title: "since", About: "how long it has been in this state; the newest change is the first",
			number: func(t *targetView) float64 { return float64(t.Since.UnixNano()) }, isFalling: true,
		},
		{Key: "target", Title: "target", text: func(t *targetView) string { return t.Target.Name }},
	}
	if slices.ContainsFunc(targets, func(t *targetView) bool { return t.SharedGroup() != "" }) {
		list = append(list, column{Key: "group", Title: "group", text: (*targetView).SharedGroup})
	}
	for _, name := range labelNames(targets) {
		valueOf := func(t *targetView) string { return t.Target.Labels[name] }
		list = append(list, column{Key: "label:" + name, Title: name, text: valueOf})
	}
	list = append(list, column{
		Key: "ttft", Title: "TTFT", About: "time to first token", isFalling: true,
		number: medianOf(func(l allQuantiles) quantiles { return l.TTFT }),
	})
	hasTPOTAlone := func(p *view) bool { return p.Latencies.TPOT.N > 0 && p.Latencies.ITL.N == 0 }
	if slices.ContainsFunc(targets, func(t *targetView) bool { return slices.ContainsFunc(t.Prompts, hasTPOTAlone) }) {
		list = append(list, column{
			Key: "tpot", Title: "TPOT", About: "time per output token", isFalling: true,
			number: medianOf(func(l allQuantiles) quantiles { return l.TPOT }),
		})
	}
	return append(list,
		column{
			Key: "itl", Title: "ITL", About: "inter-token latency", isFalling: true,
			number: medianOf(func(l allQuantiles) quantiles { return l.ITL }),
		},
		column{
			Key: "e2el", Title: "E2EL", isFalling: true,
			About:  "end-to-end latency, and that of the last 40 probes as a line; a mark is a failure",
			number: medianOf(func(l allQuantiles) quantiles { return l.E2EL }),
		},
		column{
			Key: "objective", Title: "worst objective", isFalling: true,
			About: "the one that has spent most of its error budget",
			number: func(t *targetView) float64 {
				worst := t.Worst()
				if worst == nil {
					return math.NaN()
				}
				return worst.spent()
			},
		},
	)
}

// medianOf returns how to get the median of a latency: of several prompts the highest one, NaN without any.
func medianOf(latency func(allQuantiles) quantiles) func(*targetView) float64 {
	return func(t *targetView) float64 {
		highest := math.NaN()
		for _, p := range t.Prompts {
			median := float64(latency(p.Latencies).P50)
			if math.IsNaN(highest) || median > highest {
				highest = median
			}
		}
		return highest
	}
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
func (c column) compare(a, b *targetView, isReversed bool) int {
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
