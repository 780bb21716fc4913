package main

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// A scope is what the PromQL in a YAML file leaves out. Its methods are the functions that common.yaml explains.
type scope struct {
	matchers string // of every selector of the dashboard
	by       string // labels
	side     string // a or b, on a dashboard that compares
	forms    map[string]string
}

// expand replaces the functions and forms in a text; dot is what <<.>> stands for.
func (s scope) expand(text string, dot any) (string, error) {
	empty := template.New("text").Delims("<<", ">>").Option("missingkey=error").Funcs(s.functions())
	t, err := empty.Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, dot)
	return out.String(), err
}

// functions returns the functions and forms by name.
func (s scope) functions() template.FuncMap {
	f := template.FuncMap{
		"by":       func() string { return s.by },
		"side":     func() string { return s.side },
		"upper":    strings.ToUpper,
		"of":       s.selectorOf,
		"max":      s.max,
		"rate":     s.rate,
		"increase": s.increase,
		"quantile": s.quantile,
		"suffix":   suffix,
		"on": func(side, form string, dot any) (string, error) {
			s.side = side
			return s.expand(s.forms[form], dot)
		},
	}
	for name, form := range s.forms {
		f[name] = func(dot ...any) (string, error) { return s.expand(form, append(dot, nil)[0]) }
	}
	return f
}

var selector = regexp.MustCompile(`^([^{\[]*)(?:\{(.*)\})?(.*)$`)

// split returns the metric of a selector, its own matchers and its range.
func split(text string) (metric, matchers, over string) {
	m := selector.FindStringSubmatch(text)
	return m[1], m[2], m[3]
}

// suffix appends the end of a classic histogram's name to the metric of a selector.
func suffix(end, text string) string {
	metric, _, _ := split(text)
	return metric + end + strings.TrimPrefix(text, metric)
}

// selectorOf returns a selector with the matchers of the dashboard.
func (s scope) selectorOf(text string) string {
	metric, matchers, _ := split(text)
	if matchers != "" {
		matchers = "," + matchers
	}
	return metric + "{" + strings.ReplaceAll(s.matchers, "<<side>>", s.side) + matchers + "}"
}

func (s scope) max(text string) string {
	return "max by (" + s.by + ") (" + s.selectorOf(text) + ")"
}

func (s scope) rate(text string) string { return s.sum("rate", text) }

func (s scope) increase(text string) string { return s.sum("increase", text) }

// sum returns the sum of a function over a range, which is the dashboard's window if the selector has none.
func (s scope) sum(function, text string) string {
	_, _, over := split(text)
	return "sum by (" + s.by + ") (" + function + "(" + s.selectorOf(text) + cmp.Or(over, "[$window]") + "))"
}

// quantile returns a quantile of a histogram: native if there is one, else classic.
func (s scope) quantile(q float64, text string) string {
	function := "histogram_quantile(" + strconv.FormatFloat(q, 'f', -1, 64) + ", "
	classic := s
	classic.by += ", le"
	return function + s.rate(text) + ")\nor " + function + classic.rate(suffix("_bucket", text)) + ")"
}
