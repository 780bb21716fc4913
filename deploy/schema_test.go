package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/llm-prober/prober/internal/testing/golden"
)

// A schema is a JSON Schema, or a part of one.
type schema = map[string]any

// passedOn are the mappings of values.yaml that go into Kubernetes' objects as they are, with fields that the
// chart does not know. Empty mappings are such, too.
var passedOn = []string{
	"global", "livenessProbe", "readinessProbe", "resources", "podSecurityContext", "securityContext", "strategy",
	"grafanaDashboards.labels", "grafanaDashboards.grafanaOperator.spec", "podMonitoring.endpoint",
}

// TestSchemaOfTheValues holds that values.schema.json is made of values.yaml, whose keys and types it has, and
// for config of the schema of the targets file.
func TestSchemaOfTheValues(t *testing.T) {
	var values yaml.Node
	unmarshal(t, read(t, chart+"/values.yaml"), &values)
	properties := valueSchema(t, "", values.Content[0])["properties"].(schema)
	properties["config"] = configSchema(t)
	properties["enabled"] = schema{"type": "boolean", "description": "condition of a chart that depends on this one"}

	var text strings.Builder
	text.WriteString(`{
"$schema": "http://json-schema.org/draft-07/schema#",
"title": "values of the chart prober, written by make generate",
"type": "object",
"additionalProperties": false,
"properties": {`)
	for i, name := range slices.Sorted(maps.Keys(properties)) {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, "\n%q: %s", name, encode(t, properties[name]))
	}
	text.WriteString("\n}\n}\n")
	golden.Equal(t, chart+"/values.schema.json", text.String())
}

// valueSchema returns the schema of a value of values.yaml: its type, and its keys, if it is a mapping of the
// chart's own.
func valueSchema(t *testing.T, path string, value *yaml.Node) schema {
	t.Helper()
	types := map[string]string{
		"!!str": "string", "!!bool": "boolean", "!!int": "integer", "!!seq": "array", "!!map": "object",
	}
	kind, ok := types[value.Tag]
	if !ok {
		t.Fatalf("values.yaml: %s is of no known type: %s", path, value.Tag)
	}
	if kind != "object" || len(value.Content) == 0 || slices.Contains(passedOn, path) {
		return schema{"type": kind}
	}
	properties := schema{}
	for pair := range slices.Chunk(value.Content, 2) {
		name := pair[0].Value
		properties[name] = valueSchema(t, strings.TrimPrefix(path+"."+name, "."), pair[1])
	}
	return schema{"type": kind, "additionalProperties": false, "properties": properties}
}

// configSchema returns the schema of the targets file as a part of another schema. It has no key in plain text,
// which would be in a ConfigMap; and numbers may be texts, as helm --set makes them of fractions.
func configSchema(t *testing.T) schema {
	t.Helper()
	var config schema
	err := json.Unmarshal(read(t, "../docs/targets.schema.json"), &config)
	if err != nil {
		t.Fatal(err)
	}
	delete(config, "$schema")
	delete(config, "$id")
	adapt(config)
	return config
}

// adapt makes a part of the schema of the targets file one of the schema of the values.
func adapt(part any) {
	switch part := part.(type) {
	case []any:
		for _, element := range part {
			adapt(element)
		}
	case schema:
		delete(part, "description") // the documentation has it
		if properties, ok := part["properties"].(schema); ok {
			delete(properties, "api_key")
		}
		if kind := part["type"]; kind == "number" || kind == "integer" {
			part["type"] = []any{kind, "string"}
			part["pattern"] = "^[-+.0-9eE]+$" // of the text
		}
		if reference, ok := part["$ref"].(string); ok {
			part["$ref"] = "#/properties/config" + strings.TrimPrefix(reference, "#")
		}
		for _, below := range part {
			adapt(below)
		}
	}
}

// encode returns v as JSON on one line.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(text.Bytes())
}
