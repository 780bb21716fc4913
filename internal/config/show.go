package config

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Effective returns what [Load] returns, for people: as YAML, with the source of each value that is not a default.
func Effective(o Options) (text string, warnings []string, err error) {
	c, err := o.load()
	if err != nil {
		return "", nil, err
	}
	s := settings()
	var b strings.Builder
	b.WriteString("prober:\n")
	show(&b, "  ", s.prober, c.Config, c.prober)
	b.WriteString("targets:\n")
	for i, t := range c.targets {
		show(&b, "  - ", append(s.own, s.shared...), &c.Targets[i], t.origin)
	}
	b.WriteString("objectives:\n")
	for i, from := range c.objectives {
		show(&b, "  - ", s.objective, &c.Objectives[i], from)
	}
	return b.String(), c.Warnings, nil
}

// show writes the settings of a struct that have a value. The first line begins with lead, the others are as far in.
func show(b *strings.Builder, lead string, ks keys, of any, from origin) {
	for _, k := range ks {
		v := k.field(of)
		value := shown(k, v)
		if value == "" {
			continue
		}
		line := lead + k.keyName() + ": " + value
		if where := writtenAt(k, v, from); where != "" {
			line = fmt.Sprintf("%-44s # %s", line, where)
		}
		b.WriteString(line + "\n")
		lead = strings.Repeat(" ", len(lead))
	}
}

// shown returns a value as YAML on one line; nothing for one that is not there.
func shown(k Key, v reflect.Value) string {
	isLimit := k.name == "LIMIT" && v.IsZero() // of availability
	isEmpty := v.Kind() == reflect.Map && v.Len() == 0
	if isLimit || isEmpty || fmt.Sprint(v.Interface()) == "" {
		return ""
	}
	if k.secret {
		return "'***'"
	}
	if k.Type == "number" {
		return fmt.Sprint(v.Interface())
	}
	value, _ := yaml.Marshal(v.Interface()) // of a single value
	return strings.TrimSpace(string(value))
}

// writtenAt returns where a value was written; nothing for a default.
func writtenAt(k Key, v reflect.Value, from origin) string {
	source, text := from.find(k.name)
	keyOfFile := k.name == "API_KEY" && from.given("API_KEY_FILE") // the key is what the file holds
	if source == nil || text == "" || keyOfFile || v.IsZero() && k.name == "API_KEY_FILE" {
		return ""
	}
	return strings.TrimSuffix(source.place(k.name), ": "+k.keyName())
}
