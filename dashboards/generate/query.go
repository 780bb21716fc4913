package main

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// A scope is what the PromQL in a YAML file leaves out.
type scope struct {
	matchers string // of every selector of the dashboard
	by       string // labels
	side     string // a or b, on a dashboard that compares
	forms    map[string]string
}

// expand puts the text of functions and forms in; dot is what <<.>> stands for.
func (s scope) expand(text string, dot any) (string, error) {
	t, err := template.New("text").Delims("<<", ">>").Option("missingkey=error").Funcs(s.functions()).Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, dot)
	return out.String(), err
}

// functions are explained in common.yaml.
func (s scope) functions() template.FuncMap {
	f := template.FuncMap{
		"by": func() string { return s.by }, "side": func() string { return s.side }, "upper": strings.ToUpper,
		"of": s.of, "max": s.max, "rate": s.rate, "increase": s.increase, "quantile": s.quantile, "suffix": suffix,
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

// split is the metric of a selector, its own matchers and its range.
func split(text string) (metric, matchers, over string) {
	m := selector.FindStringSubmatch(text)
	return m[1], m[2], m[3]
}

// suffix puts the end of a classic histogram's name into a selector.
func suffix(end, text string) string {
	metric, _, _ := split(text)
	return metric + end + strings.TrimPrefix(text, metric)
}

func (s scope) of(text string) string {
	metric, matchers, _ := split(text)
	if matchers != "" {
		matchers = "," + matchers
	}
	return metric + "{" + strings.ReplaceAll(s.matchers, "<<side>>", s.side) + matchers + "}"
}

func (s scope) max(text string) string      { return "max by (" + s.by + ") (" + s.of(text) + ")" }
func (s scope) rate(text string) string     { return s.sum("rate", text) }
func (s scope) increase(text string) string { return s.sum("increase", text) }

func (s scope) sum(function, text string) string {
	_, _, over := split(text)
	return "sum by (" + s.by + ") (" + function + "(" + s.of(text) + cmp.Or(over, "[$window]") + "))"
}

func (s scope) quantile(q float64, text string) string {
	f, buckets := "histogram_quantile("+strconv.FormatFloat(q, 'f', -1, 64)+", ", s
	buckets.by += ", le"
	return f + s.rate(text) + ")\nor " + f + buckets.rate(suffix("_bucket", text)) + ")"
}
