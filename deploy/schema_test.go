package deploy_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/wire"
)

// A shape is the part of a JSON schema that these tests look at.
type shape struct {
	Ref        string           `json:"$ref"`
	Additional json.RawMessage  `json:"additionalProperties"`
	Properties map[string]shape `json:"properties"`
	Enum       []any            `json:"enum"`
	Minimum    *float64         `json:"minimum"`
	Above      *float64         `json:"exclusiveMinimum"`
	Maximum    *float64         `json:"maximum"`
	Items      *shape           `json:"items"`

	Definitions map[string]shape `json:"definitions"`
}

func schema(t *testing.T) shape {
	t.Helper()
	var s shape
	if err := json.Unmarshal(read(t, chart+"/values.schema.json"), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemaKnowsTheConfiguration holds that entries of targets, objectives and
// settings may have the settings of package config, with its words and bounds, and no
// others but the chart's own.
func TestSchemaKnowsTheConfiguration(t *testing.T) {
	of := schema(t).Definitions
	for name, c := range map[string]struct {
		fields reflect.Type
		own    []string
	}{
		"settings":  {reflect.TypeFor[config.Settings](), []string{"apiKey"}},
		"target":    {reflect.TypeFor[config.Target](), []string{"apiKey", "ca", "clientCertificate"}},
		"objective": {reflect.TypeFor[config.Objective](), nil},
	} {
		want := c.own
		for _, f := range reflect.VisibleFields(c.fields) {
			if key := strings.ToLower(f.Tag.Get("env")); key != "" {
				want = append(want, key)
				of[name].Properties[key].allows(t, key, f.Tag)
			}
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(of[name].Properties)); !slices.Equal(got, want) {
			t.Errorf("%s has the keys\n%v, want\n%v", name, got, want)
		}
	}
}

// TestChartKnowsTheDefaults holds that the costs the chart counts are of the prober's own defaults.
func TestChartKnowsTheDefaults(t *testing.T) {
	line := regexp.MustCompile(`\$defaults := dict (.*) -}}`).FindSubmatch(read(t, chart+"/templates/_targets.tpl"))
	if line == nil {
		t.Fatal("the templates have no defaults: the test does not see them")
	}
	words := strings.Fields(string(line[1]))
	for i := 0; i+1 < len(words); i += 2 {
		name, value := strings.Trim(words[i], `"`), strings.Trim(words[i+1], `"`)
		f, ok := fieldOf(strings.ToUpper(name))
		if want := cmp.Or(f.Tag.Get("envDefault"), f.Tag.Get("otherwise")); !ok || value != want {
			t.Errorf("the chart's default of %s is %q, the prober's %q", name, value, want)
		}
	}
}

// fieldOf is the setting of all targets with a name.
func fieldOf(name string) (reflect.StructField, bool) {
	for f := range reflect.TypeFor[config.Settings]().Fields() {
		if f.Tag.Get("env") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// allows compares the words and bounds of a property with the tags of the setting. The
// dialects and server types are those of another test; settings that may be none are text too.
func (s shape) allows(t *testing.T, key string, tag reflect.StructTag) {
	t.Helper()
	if words := strings.Fields(tag.Get("oneof")); len(words) > 1 {
		var got []string
		for _, word := range s.Enum {
			if text, ok := word.(string); ok {
				got = append(got, text)
			}
		}
		if !slices.Equal(got, words) {
			t.Errorf("%s is one of %v, want %v", key, got, words)
		}
	}
	if tag.Get("max") == "" || tag.Get("none") != "" {
		return
	}
	for name, got := range map[string]*float64{"min": s.Minimum, "above": s.Above, "max": s.Maximum} {
		if want, err := strconv.ParseFloat(tag.Get(name), 64); (got != nil) != (err == nil) || got != nil && *got != want {
			t.Errorf("the bound %s of %s is %v, want %q", name, key, got, tag.Get(name))
		}
	}
}

// TestSettingsAreThoseOfTargets holds that what is a default for all targets has
// the same bounds as what one target says.
func TestSettingsAreThoseOfTargets(t *testing.T) {
	var s struct {
		Definitions map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(read(t, chart+"/values.schema.json"), &s); err != nil {
		t.Fatal(err)
	}
	for key, want := range s.Definitions["settings"].Properties {
		if got := s.Definitions["target"].Properties[key]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s of a target is %v, of settings %v", key, got, want)
		}
	}
}

// TestSchemaKnowsTheDialects holds that the schema knows the dialects and the kinds
// of servers that the prober knows.
func TestSchemaKnowsTheDialects(t *testing.T) {
	apis := []any{wire.Auto}
	for _, name := range wire.APIs() {
		apis = append(apis, name)
	}
	servers := []any{wire.Auto}
	for _, name := range wire.Servers() {
		servers = append(servers, name)
	}
	target := schema(t).Definitions["target"].Properties
	if got := target["api"].Enum; !slices.Equal(got, apis) {
		t.Errorf("api is one of %v, want %v", got, apis)
	}
	if got := target["server"].Enum; !slices.Equal(got, servers) {
		t.Errorf("server is one of %v, want %v", got, servers)
	}
}

// TestSchemaKnowsTheValues holds that values.yaml and the schema have the same
// keys, as deep as the schema says that there are no others.
func TestSchemaKnowsTheValues(t *testing.T) {
	var values map[string]any
	if err := yaml.Unmarshal(read(t, chart+"/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	values["enabled"] = true // for charts that depend on this one
	s := schema(t)
	s.holds(t, s.Definitions, "", values)
}

// holds compares the keys of a mapping with those of a closed schema.
func (s shape) holds(t *testing.T, definitions map[string]shape, place string, values map[string]any) {
	t.Helper()
	if string(s.Additional) != "false" || len(values) == 0 {
		return
	}
	for key, value := range values {
		property, ok := s.Properties[key]
		if !ok {
			t.Errorf("the schema does not know %s%s", place, key)
		}
		if below, isMap := value.(map[string]any); isMap && !strings.HasPrefix(property.Ref, "#") {
			property.holds(t, definitions, place+key+".", below)
		}
	}
	for key := range s.Properties {
		if _, ok := values[key]; !ok {
			t.Errorf("values.yaml has no %s%s", place, key)
		}
	}
}
