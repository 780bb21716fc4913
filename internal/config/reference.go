package config

import (
	_ "embed"
	"strings"
	"text/template"
)

// A Key describes one setting, for flags and documentation.
type Key struct {
	Variable  string // PROBER_QPS, PROBER_TARGETS_n_MODEL, PROBER_OBJECTIVES_n_GOAL
	Flag      string // name of the flag, without dashes; "" if it has none
	Default   string // the default, or in words what happens without a value
	Help      string // meaning, unit and bounds in one phrase, without full stop
	PerTarget bool   // may be given for one target: PROBER_TARGETS_n_…
	Secret    bool   // its value is never to be shown
	Switch    bool   // takes on or off; its flag alone means on
}

// Reference returns every setting in the order of the documentation. The name
// of an override in [Options] is the flag in upper case with _ for -. The
// result is the caller's.
func Reference() []Key {
	all := keys(nil, nil)
	described := make([]Key, len(all))
	for i, k := range all {
		described[i] = k.describe()
	}
	return described
}

func (k key) describe() Key {
	d := Key{
		Variable:  prefix + k.name,
		Default:   k.fallback + k.otherwise,
		Help:      k.help,
		PerTarget: k.scope == sharedScope || k.scope == targetScope,
		Secret:    k.kind == secretKind || k.kind == headersKind,
		Switch:    k.kind == onOffKind,
	}
	switch k.scope {
	case targetScope:
		d.Variable = prefix + targetList + "_n_" + k.name
	case objectiveScope:
		d.Variable = prefix + objectiveList + "_n_" + k.name
	}
	if k.flag() {
		d.Flag = flagName(k.name)
	}
	if k.kind == wordKind && len(k.words) > 1 {
		d.Help += ": " + alternatives(k.words)
	}
	return d
}

var (
	//go:embed reference.md.tmpl
	referenceText string
	// exampleFile is the targets file of the documentation.
	//go:embed example.yaml
	exampleFile string
)

// Markdown renders the configuration reference, docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	page := template.Must(template.New("reference").Parse(referenceText))
	if err := page.Execute(&b, referencePage()); err != nil {
		panic(err) // the page depends on nothing that a user gives
	}
	return b.String()
}

// A page is what the template of the reference sees.
type page struct {
	Prober, Shared, Targets, Objectives []Key
	Example                             string
	Rates                               []rate
}

// A rate is a line of the table of what can be measured.
type rate struct{ QPS, Goal string }

func referencePage() page {
	described := func(sc scope) (some []Key) {
		for _, k := range keys(nil, nil).in(sc) {
			some = append(some, k.describe())
		}
		return some
	}
	p := page{
		Prober: described(proberScope), Shared: described(sharedScope),
		Targets: described(targetScope), Objectives: described(objectiveScope),
		Example: exampleFile,
	}
	for _, qps := range []float64{0.01, 0.05, 0.1, 0.5, 1} {
		goal, _ := largestGoal(qps)
		p.Rates = append(p.Rates, rate{QPS: plain(qps), Goal: goal})
	}
	return p
}
