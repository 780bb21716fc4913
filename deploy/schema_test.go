package deploy_test

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	Type       any              `json:"type"`
	Pattern    string           `json:"pattern"`
	Minimum    *float64         `json:"minimum"`
	Above      *float64         `json:"exclusiveMinimum"`
	Maximum    *float64         `json:"maximum"`

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
				of[name].Properties[key].allows(t, key, f)
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
	defaults := map[string]string{}
	for f := range reflect.TypeFor[config.Settings]().Fields() {
		defaults[strings.ToLower(f.Tag.Get("env"))] = cmp.Or(f.Tag.Get("envDefault"), "none")
	}
	line := regexp.MustCompile(`\$defaults := dict (.*) -}}`).FindSubmatch(read(t, chart+"/templates/_targets.tpl"))
	if line == nil {
		t.Fatal("the templates have no defaults: the test does not see them")
	}
	for pair := range slices.Chunk(strings.Fields(strings.ReplaceAll(string(line[1]), `"`, "")), 2) {
		if want, ok := defaults[pair[0]]; !ok || pair[1] != want {
			t.Errorf("the chart's default of %s is %q, the prober's %q", pair[0], pair[1], want)
		}
	}
}

// allows compares the words and bounds of a property with the tags of the setting. The
// dialects and server types are those of another test; settings that may be none are text too.
func (s shape) allows(t *testing.T, key string, setting reflect.StructField) {
	t.Helper()
	tag := setting.Tag
	_, mayBeNone := tag.Lookup("optional")
	words := slices.DeleteFunc(slices.Clone(s.Enum), func(word any) bool { return reflect.TypeOf(word).Kind() != reflect.String })
	if want := strings.Fields(tag.Get("oneof")); len(want) > 1 && fmt.Sprint(words) != fmt.Sprint(want) {
		t.Errorf("%s is one of %v, want %v", key, words, want)
	}
	if tag.Get("max") == "" || mayBeNone {
		return
	}
	for name, got := range map[string]*float64{"min": s.Minimum, "above": s.Above, "max": s.Maximum} {
		if want, err := strconv.ParseFloat(tag.Get(name), 64); (got != nil) != (err == nil) || got != nil && *got != want {
			t.Errorf("the bound %s of %s is %v, want %q", name, key, got, tag.Get(name))
		}
	}
}

// TestSchemaKnowsTheDialects holds that the schema knows the dialects and the kinds
// of servers that the prober knows, and that what is a default for all targets has the same bounds as what one target says.
func TestSchemaKnowsTheDialects(t *testing.T) {
	target := schema(t).Definitions["target"].Properties
	for key, names := range map[string][]string{"api": wire.APIs(), "server": wire.Servers()} {
		if got, want := fmt.Sprint(target[key].Enum), fmt.Sprint(append([]string{wire.Auto}, names...)); got != want {
			t.Errorf("%s is one of %s, want %s", key, got, want)
		}
	}
	for key, want := range schema(t).Definitions["settings"].Properties {
		if got := target[key]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s of a target is %v, of settings %v", key, got, want)
		}
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
	schema(t).holds(t, "", values)
}

// holds compares the keys of a mapping with those of a closed schema.
func (s shape) holds(t *testing.T, place string, values map[string]any) {
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
			property.holds(t, place+key+".", below)
		}
	}
	for key := range s.Properties {
		if _, ok := values[key]; !ok {
			t.Errorf("values.yaml has no %s%s", place, key)
		}
	}
}
