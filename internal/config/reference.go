package config

import (
	_ "embed"
	"reflect"
	"strconv"
	"strings"
	"text/template"
)

// A Key describes one setting, for flags and documentation.
type Key struct {
	Variable  string   // PROBER_QPS, PROBER_TARGETS_n_MODEL, PROBER_OBJECTIVES_n_GOAL
	Flag      string   // name of the flag, without dashes; "" if it has none
	Default   string   // the default, or in words what happens without a value
	Help      string   // meaning, unit and bounds in one phrase, without full stop
	PerTarget bool     // may be given for one target: PROBER_TARGETS_n_…
	Secret    bool     // its value is never to be shown
	Switch    bool     // takes on or off; its flag alone means on
	Restart   bool     // a change takes effect with a restart only
	Not       []string // commands that have no use for it
}

// Reference returns every setting in the order of the documentation. The name
// of an override in [Options] is the flag in upper case with _ for -. The
// result is the caller's.
func Reference() []Key { return settings(nil, nil).describe() }

func (s schema) describe() []Key {
	keys := make([]Key, len(s))
	for i, f := range s {
		tag := f.Tag.Get
		k := Key{
			Variable:  prefix + f.name,
			Flag:      f.flag(),
			Default:   tag("envDefault") + tag("otherwise"),
			Help:      tag("help"),
			PerTarget: f.scope == sharedScope || f.scope == targetScope,
			Secret:    f.secret(),
			Switch:    f.Type.Kind() == reflect.Bool,
			Restart:   tag("reload") == "restart",
		}
		switch f.scope {
		case targetScope:
			k.Variable = prefix + targetList + "_n_" + f.name
		case objectiveScope:
			k.Variable = prefix + objectiveList + "_n_" + f.name
		}
		if tag("not") != "" {
			k.Not = strings.Split(tag("not"), ",")
		}
		if len(f.words) > 1 {
			k.Help += ": " + alternatives(f.words)
		}
		keys[i] = k
	}
	return keys
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
	all := settings(nil, nil)
	p := page{
		Prober: all.in(proberScope).describe(), Shared: all.in(sharedScope).describe(),
		Targets: all.in(targetScope).describe(), Objectives: all.in(objectiveScope).describe(),
		Example: exampleFile,
	}
	for _, qps := range []float64{0.01, 0.05, 0.1, 0.5, 1} {
		goal, _ := largestGoal(qps)
		p.Rates = append(p.Rates, rate{QPS: strconv.FormatFloat(qps, 'f', -1, 64), Goal: goal})
	}
	return p
}
