package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
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
	show(&b, "  ", l.schema.prober.keys, l.prober)
	b.WriteString("targets:\n")
	for _, t := range l.targets {
		show(&b, "  - ", slices.Concat(l.schema.own(), l.schema.shared.keys), t.entry)
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
		show(b, lead, l.schema.objective.keys, o.entry)
	}
}

// show writes the settings of an entry that have a value. The first line begins with lead, and the others are indented
// as far.
func show(b *strings.Builder, lead string, keys []Key, e *entry) {
	for _, k := range keys {
		value := k.text(e.settings)
		if value == "" {
			continue
		}
		labels, isLabels := k.pointer(e.settings).(*Labels)
		switch {
		case k.secret:
			value = "'***'"
		case isLabels:
			value = labels.yaml()
		case k.Type != "number" && !k.Switch:
			text, _ := yaml.Marshal(value) // a text can always be encoded
			value = strings.TrimSpace(string(text))
		}
		line := lead + k.fileKey() + ": " + value
		if e.given(k.pointer(e.settings)) {
			line = fmt.Sprintf("%-44s # %s", line, e.values[k.name].place.at)
		}
		b.WriteString(line + "\n")
		lead = strings.Repeat(" ", len(lead))
	}
}
