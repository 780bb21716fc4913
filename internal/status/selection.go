package status

import (
	"cmp"
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
	add := func(c choice, prefix string, valueOf func(*view) string) {
		for _, value := range valuesOf(views, valueOf) {
			isChosen := s.Group == value
			if prefix != "" {
				isChosen = slices.Contains(s.Labels, prefix+value)
			}
			c.Options = append(c.Options, option{Value: prefix + value, Text: value, IsChosen: isChosen})
		}
		if len(c.Options) > 1 {
			list = append(list, c)
		}
	}
	add(choice{Name: "group", Title: "group"}, "", (*view).SharedGroup)
	for _, name := range labelNames(views) {
		add(choice{Name: "label", Title: name}, name+":", func(v *view) string { return v.Labels[name] })
	}
	return list
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

// wants reports whether a target is one that the reader wants to see.
func (s selection) wants(v *view) bool {
	isOther := s.Target != "" && v.Name != s.Target || s.Group != "" && v.Group != s.Group
	isInOtherState := slices.Contains(urgency, state(s.State)) && string(v.State) != s.State
	if isOther || isInOtherState {
		return false
	}
	for _, label := range s.Labels {
		name, value, _ := strings.Cut(label, ":")
		if v.Labels[name] != value {
			return false
		}
	}
	text := v.searchText()
	for word := range strings.FieldsSeq(strings.ToLower(s.Text)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// searchText returns what is shown of a target in one text, in lower case.
func (v *view) searchText() string {
	parts := append(v.Why(), v.Name, v.Group, v.Model, v.API, v.URL, v.Prompt, string(v.State))
	for _, p := range []*string{v.Server, v.ServerVersion} {
		if p != nil {
			parts = append(parts, *p)
		}
	}
	if v.LastOutcome != nil {
		parts = append(parts, string(*v.LastOutcome))
	}
	for name, value := range v.Labels {
		parts = append(parts, name+":"+value)
	}
	return strings.ToLower(strings.Join(parts, "\n"))
}

// choose returns the targets that the reader wants to see, in the order of one of the columns, and those that are equal
// by the most urgent first. It may change the list.
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
