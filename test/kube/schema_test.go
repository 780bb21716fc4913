package kube_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A schema is JSON Schema, or OpenAPI which is nearly that.
type schema = map[string]any

// schemas writes a strict JSON Schema of each kind that Kubernetes and the CRDs
// define into a new folder, and returns the template by which kubeconform finds
// them. A key that no schema knows is an error, as for the API server.
func schemas(t *testing.T, tools, crds string) (location string) {
	t.Helper()
	dir := t.TempDir()
	var swagger struct {
		Definitions map[string]schema `json:"definitions"`
	}
	if err := json.Unmarshal([]byte(read(t, tools+"/swagger.json")), &swagger); err != nil {
		t.Fatal(err)
	}
	for _, definition := range swagger.Definitions {
		closed(definition)
	}
	for name, definition := range swagger.Definitions {
		kinds, _ := definition["x-kubernetes-group-version-kind"].([]any)
		if len(kinds) != 1 {
			continue // not the root of an object, or one for all groups
		}
		kind := kinds[0].(schema)
		writeSchema(t, dir, kind["group"].(string), kind["version"].(string), kind["kind"].(string),
			schema{"$ref": "#/definitions/" + name, "definitions": reached(swagger.Definitions, name)})
	}
	for _, path := range inputs(t, crds+"/*/*.yaml") {
		writeCRD(t, dir, path)
	}
	return dir + "/{{.Group}}_{{.ResourceAPIVersion}}_{{.ResourceKind}}.json"
}

// writeCRD writes a schema of each version of a CRD.
func writeCRD(t *testing.T, dir, path string) {
	t.Helper()
	var crd struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema schema `yaml:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, path)), &crd); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, version := range crd.Spec.Versions {
		root := version.Schema.OpenAPIV3Schema
		if properties, ok := root["properties"].(schema); ok {
			properties["metadata"] = schema{"type": "object"} // the API server's own
			closed(root)
			delete(properties["metadata"].(schema), "additionalProperties")
		}
		writeSchema(t, dir, crd.Spec.Group, version.Name, crd.Spec.Names.Kind, root)
	}
}

func writeSchema(t *testing.T, dir, group, version, kind string, s schema) {
	t.Helper()
	if group == "" {
		group = version // as kubeconform calls the core
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(group + "_" + version + "_" + kind + ".json")
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// closed makes of all objects with known keys, at any depth, objects with no
// others, and of what may be a number or a string just that.
func closed(s schema) {
	if s["x-kubernetes-int-or-string"] == true || s["format"] == "int-or-string" {
		delete(s, "type")
		delete(s, "format")
		s["type"] = []string{"integer", "string"}
	}
	_, known := s["properties"]
	if _, open := s["additionalProperties"]; known && !open && s["x-kubernetes-preserve-unknown-fields"] != true {
		s["additionalProperties"] = false
	}
	properties, _ := s["properties"].(schema)
	for _, below := range properties {
		closeAny(below)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		closeAny(s[key])
	}
}

func closeAny(value any) {
	if s, ok := value.(schema); ok {
		closed(s)
	}
}

// reached returns the definitions that name needs, itself included.
func reached(all map[string]schema, name string) map[string]schema {
	needed := map[string]schema{}
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		if _, ok := needed[todo[0]]; ok {
			continue
		}
		needed[todo[0]] = all[todo[0]]
		todo = append(todo, references(all[todo[0]])...)
	}
	return needed
}

// references returns the names of the definitions that a value refers to.
func references(value any) (names []string) {
	switch v := value.(type) {
	case schema:
		if ref, ok := v["$ref"].(string); ok {
			names = append(names, strings.TrimPrefix(ref, "#/definitions/"))
		}
		for below := range maps.Values(v) {
			names = append(names, references(below)...)
		}
	case []any:
		for _, below := range v {
			names = append(names, references(below)...)
		}
	}
	return names
}
