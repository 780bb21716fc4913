package config

import (
	_ "embed" // of the example
	"encoding/json"
	"maps"
	"strconv"
)

// schemaURL is where each release has [Schema]. Editors take it from the first line of [Example].
const schemaURL = "https://github.com/llm-prober/prober/releases/latest/download/targets.schema.json"

//go:embed example.yaml
var example string

// Example returns a targets file with the most used settings and comments that explain them.
func Example() string { return example }

// A node is a part of a JSON Schema.
type node map[string]any

// Schema returns the JSON Schema of the targets file, draft 2020-12, for editors.
func Schema() []byte {
	s := newSchema()
	all, target, objective := properties(s.shared.keys), properties(s.own()), properties(s.objective.keys)
	prompt := properties(s.prompt.keys)
	for name := range all {
		target[name] = node{"$ref": "#/properties/" + name}
	}
	for _, k := range s.prober.keys {
		if k.has("file") {
			all[k.fileKey()] = k.schema()
		}
	}
	entry := object(target)
	entry["required"] = []string{"url"}
	target["prompts"] = node{"$ref": "#/properties/prompts"}
	target["objectives"] = node{"$ref": "#/properties/objectives"}
	all["targets"] = node{"type": "array", "items": entry}
	all["prompts"] = node{"type": "array", "maxItems": mostPrompts, "items": object(prompt)}
	all["objectives"] = node{"type": "array", "items": object(objective)}
	source := object(properties(s.source.keys))
	source["required"] = []string{"url"}
	all["http_sd"] = node{"type": "array", "items": source}
	root := object(all)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = schemaURL
	root["title"] = "targets file of prober"
	text, _ := json.MarshalIndent(root, "", "  ") // of maps and texts
	return append(text, '\n')
}

func object(properties node) node {
	return node{"type": "object", "additionalProperties": false, "properties": properties}
}

func properties(keys []Key) node {
	all := node{}
	for _, k := range keys {
		all[k.fileKey()] = k.schema()
	}
	return all
}

// schema returns the JSON Schema of the values of a setting.
func (k Key) schema() node {
	p := maps.Clone(k.kind.schema)
	if len(k.words) > 0 {
		p = node{"enum": spellings(k.words)}
	}
	if k.Type == "number" {
		for tag, keyword := range map[string]string{"min": "minimum", "max": "maximum"} {
			bound, ok := k.field.Tag.Lookup(tag)
			if ok {
				p[keyword] = json.Number(bound)
			}
		}
	}
	if k.optional {
		p = node{"anyOf": []any{p, node{"const": none}}}
	}
	p["description"] = k.Help
	isNumber := k.Type == "number" || k.Type == "numbers"
	if isNumber && k.Default != "" {
		p["default"] = json.Number(k.Default)
	} else if k.Default != "" {
		p["default"] = k.Default
	}
	return p
}

// spellings returns words as they can stand in YAML. A word that YAML reads as a number is there in both forms.
func spellings(words []string) (all []any) {
	for _, word := range words {
		all = append(all, word)
		if _, err := strconv.ParseFloat(word, 64); err == nil {
			all = append(all, json.Number(word))
		}
	}
	return all
}
