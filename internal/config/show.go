package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Effective returns the configuration for people: as YAML, with the source of each value that is not a default. A
// rejected target is an error.
func Effective(o Options) (text string, warnings []string, err error) {
	l, err := o.load()
	if err == nil && len(l.config.Rejected) > 0 {
		err = l.config.Problems()
	}
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	b.WriteString("prober:\n")
	show(&b, "  ", l.settings.prober, l.config, l.prober)
	b.WriteString("targets:\n")
	for _, t := range l.targets {
		show(&b, "  - ", slices.Concat(l.settings.own, l.settings.shared), &t.Target, t.origin)
		if t.objectives != nil {
			b.WriteString("    objectives:\n")
		}
		l.showObjectives(&b, "      - ", t.objectives)
	}
	b.WriteString("objectives:\n")
	l.showObjectives(&b, "  - ", l.objectives)
	return b.String(), l.config.Warnings, nil
}

// showObjectives writes a list of objectives. The first line of each begins with lead.
func (l *loader) showObjectives(b *strings.Builder, lead string, list []*objective) {
	for _, o := range list {
		show(b, lead, l.settings.objective, &o.objectiveSettings, o.origin)
	}
}

// show writes the settings of a struct that have a value. owner is a pointer to the struct. The first line begins with
// lead, and the others are indented as far.
func show(b *strings.Builder, lead string, ks keys, owner any, from *origin) {
	for _, k := range ks {
		value := k.text(owner)
		isUnlimited := k.name == "LIMIT" && !from.given("LIMIT") // of availability
		if value == "" || isUnlimited {
			continue
		}
		switch {
		case k.secret:
			value = "'***'"
		case k.name == labelsName:
			value = k.value(owner).Interface().(Labels).yaml()
		case k.Type != "number" && !k.Switch:
			text, _ := yaml.Marshal(value) // a text can always be encoded
			value = strings.TrimSpace(string(text))
		}
		line := lead + k.fileKey() + ": " + value
		if from.given(k.name) {
			place := strings.TrimSuffix(from.says[k.name].place, ": "+k.fileKey())
			line = fmt.Sprintf("%-44s # %s", line, place)
		}
		b.WriteString(line + "\n")
		lead = strings.Repeat(" ", len(lead))
	}
}
