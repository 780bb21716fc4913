package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/internal/format"
)

// schemaURL is where each release has [Schema]. Editors take it from the first line of [Example].
const schemaURL = "https://github.com/llm-prober/prober/releases/latest/download/targets.schema.json"

// Schema is the JSON Schema of the targets file, draft 2020-12, by the tags of the settings.
func Schema() []byte {
	s := settings()
	object := func(ks keys) (properties, all map[string]any) {
		properties = map[string]any{}
		for _, k := range ks {
			properties[strings.ToLower(k.name)] = k.schema()
		}
		return properties, map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	}
	all, root := object(s.shared)
	own, target := object(s.own)
	for name := range all {
		own[name] = map[string]any{"$ref": "#/properties/" + name}
	}
	target["required"] = []string{"url"}
	_, objective := object(s.objective)
	all["targets"] = map[string]any{"type": "array", "items": target}
	all["objectives"] = map[string]any{"type": "array", "items": objective}
	root["$schema"], root["$id"], root["title"] = "https://json-schema.org/draft/2020-12/schema", schemaURL, "targets file of prober"
	text, _ := json.MarshalIndent(root, "", "  ") // of maps and texts
	return append(text, '\n')
}

func (k Key) schema() map[string]any {
	tag := k.field.Tag.Get
	p := map[string]any{"type": "string"}
	set := func(name, number string) {
		if number != "" {
			p[name] = json.Number(number)
		}
	}
	switch form, ok := forms[tag("is")]; {
	case k.field.Type == reflect.TypeFor[Headers]():
		p = map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	case k.Switch:
		p = map[string]any{"enum": []any{true, false, "on", "off"}}
	case len(k.words) > 0:
		var words []any
		for _, word := range k.words {
			words = append(words, word)
			if json.Valid([]byte(word)) { // YAML takes it for a number
				words = append(words, json.Number(word))
			}
		}
		p = map[string]any{"enum": words}
	case k.Type == "duration":
		p["pattern"] = "^([0-9.]+(ns|us|µs|ms|s|m|h))+$"
	case k.Type == "number":
		p["type"] = map[bool]string{true: "number", false: "integer"}[k.field.Type.Kind() == reflect.Float64]
		set("minimum", tag("min"))
		set("exclusiveMinimum", tag("above"))
		set("maximum", tag("max"))
		if tag("is") == "ratio" {
			set("exclusiveMinimum", "0")
			set("exclusiveMaximum", "1")
		}
	case ok:
		p["pattern"] = form.String()
	}
	if tag("none") != "" {
		p = map[string]any{"anyOf": []any{p, map[string]any{"const": "none"}}}
	}
	p["description"] = k.Help
	if text := tag("envDefault"); k.Type == "number" {
		set("default", text)
	} else if text != "" {
		p["default"] = text
	}
	return p
}

// exampleKeys are the lines of [Example]; without a value the default follows.
const exampleKeys = `
qps:
prompt:
prompt_tokens:
max_tokens:
timeout:

targets:
  - url: http://localhost:8000
    name: vllm
    group: llama
    #model: meta-llama/Llama-3.1-8B-Instruct
    #api_key_file: /run/secrets/key

objectives:
  - signal: ttft
    limit: 2s
    goal: 0.95
`

// Example is a targets file with the most used settings and what they mean.
func Example() string {
	s, key := settings(), regexp.MustCompile(`^( *)[-#]? *([a-z_]+):(.*)\n`)
	var text strings.Builder
	text.WriteString("# yaml-language-server: $schema=" + schemaURL + "\n")
	for line := range strings.Lines(exampleKeys) {
		found := append(key.FindStringSubmatch(line), "", "", "", "")
		if k, ok := append(s.target, s.objective...).find(strings.ToUpper(found[2])); ok {
			help, _, _ := strings.Cut(k.Help, ";")
			for part := range strings.Lines(format.Wrap("", help, 90)) {
				text.WriteString(found[1] + "# " + strings.TrimSpace(part) + "\n")
			}
			if found[3] == "" {
				line = found[2] + ": " + k.Default + "\n"
			}
		}
		text.WriteString(line)
	}
	return text.String()
}

// Effective is the configuration that [Load] returns, for people: as YAML, with the source of each value that is not a default.
func Effective(o Options) (text string, warnings []string, err error) {
	l, all, c, err := o.load()
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	write := func(first, indent string, ks keys, from any, given values) {
		for _, k := range ks {
			v := reflect.Indirect(k.of(from))
			if !v.IsValid() || fmt.Sprint(v) == "" || k.name == "LIMIT" && v.IsZero() || k.field.Type == reflect.TypeFor[Headers]() && v.Len() == 0 {
				continue
			}
			value, _ := yaml.Marshal(v.Interface()) // a single value
			switch {
			case k.secret:
				value = []byte("'***'")
			case v.IsZero() && k.field.Tag.Get("none") != "":
				value = []byte("none")
			case v.Kind() == reflect.Struct:
				value = fmt.Append(nil, v)
			}
			line := first + strings.ToLower(k.name) + ": " + strings.TrimSpace(string(value))
			if s, ok := given[k.name]; ok && !s.assumed && s.text != "" {
				source, _, _ := strings.Cut(s.label, `="`)
				line = fmt.Sprintf("%-44s # %s", line, strings.TrimSuffix(source, ": "+strings.ToLower(k.name)))
			}
			b.WriteString(line + "\n")
			first = indent
		}
	}
	b.WriteString("prober:\n")
	write("  ", "  ", l.prober, c, all.values)
	b.WriteString("targets:\n")
	for i, it := range all.targets {
		write("  - ", "    ", append(l.own, l.shared...), &c.Targets[i], it.values)
	}
	b.WriteString("objectives:\n")
	for i, it := range all.objectives {
		write("  - ", "    ", l.objective, &c.Objectives[i], it.values)
	}
	return b.String(), c.Warnings, nil
}
