package config

import (
	_ "embed"
	"strconv"
	"strings"
	"text/template"
)

var (
	//go:embed reference.md.tmpl
	referenceText string
	// exampleFile is the targets file of the documentation.
	//go:embed example.yaml
	exampleFile string
)

// Markdown renders the configuration reference, docs/configuration.md.
func Markdown() string {
	all := settings(nil, nil)
	type rate struct{ QPS, Goal string }
	page := struct {
		Prober, Shared, Targets, Objectives keys
		Example                             string
		Rates                               []rate
	}{Prober: all.prober, Shared: all.shared, Targets: all.target, Objectives: all.objective, Example: exampleFile}
	for _, qps := range []float64{0.01, 0.05, 0.1, 0.5, 1} {
		goal, _ := largestGoal(qps)
		page.Rates = append(page.Rates, rate{QPS: strconv.FormatFloat(qps, 'f', -1, 64), Goal: goal})
	}
	var b strings.Builder
	if err := template.Must(template.New("reference").Parse(referenceText)).Execute(&b, page); err != nil {
		panic(err) // the page depends on nothing that a user gives
	}
	return b.String()
}
