package config

import (
	_ "embed"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/golden"
)

var (
	//go:embed testdata/reference.md.tmpl
	referenceText string
	//go:embed testdata/example.yaml
	exampleFile string // a targets file with a group, headers and objectives
)

// TestReferencePage holds that docs/configuration.md and the JSON Schema are what the tags say now, and that the examples load.
func TestReferencePage(t *testing.T) {
	all := settings()
	var page strings.Builder
	if err := template.Must(template.New("reference").Funcs(template.FuncMap{"short": short}).Parse(referenceText)).Execute(&page, map[string]any{
		"Prober": all.prober, "Shared": all.shared, "Targets": all.own, "Objectives": all.objective,
	}); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"../../docs/configuration.md": page.String(), "../../docs/targets.schema.json": string(Schema())} {
		golden.Equal(t, path, text)
	}
	example := load(t, Options{Environ: environ("TARGETS_FILE=f.yaml"), ReadFile: files(map[string]string{"f.yaml": Example()})})
	if diff := cmp.Diff(load(t, Options{URLs: []string{"http://a"}}).Targets[0].Settings, example.Targets[0].Settings, secrets); diff != "" {
		t.Errorf("the example has other values than the defaults:\n%s", diff)
	}
	for text, targets := range map[string]int{exampleFile: 3, Example(): 1} {
		c := load(t, Options{Environ: environ("TARGETS_FILE=f.yaml"), ReadFile: files(map[string]string{"f.yaml": text})})
		if len(c.Targets) != targets || len(c.Warnings) != 0 || !strings.HasPrefix(text, "# yaml-language-server: $schema="+schemaURL+"\n") {
			t.Errorf("an example is %+v\n%s", c, text)
		}
	}
}

// short returns a help text without its list of words if that list is long.
func short(help string) string {
	text, words, _ := strings.Cut(help, "; one of ")
	if strings.Count(words, ",") < 8 {
		return help
	}
	return text
}

// TestNamesStay holds the names of variables and flags: without one, an upgrade breaks its users.
// A new one is added to testdata/names.txt by hand; removing one is a [CHANGE]. Each has a phrase of help, and tags that mean
// something.
func TestNamesStay(t *testing.T) {
	want, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"env", "envDefault", "oneof", "min", "max", "optional", "format"}
	tag := regexp.MustCompile(`([a-zA-Z]+):"`)
	var got strings.Builder
	for _, k := range Reference() {
		for _, found := range tag.FindAllStringSubmatch(string(k.tag), -1) {
			if !slices.Contains(known, found[1]) {
				t.Errorf("%s has the tag %s", k.name, found[1])
			}
		}
		if k.Help == "" || k.Topic == "" {
			t.Errorf("%s is not described", k.name)
		}
		got.WriteString(strings.TrimSpace(k.Variable+" "+k.Flag) + "\n")
		if _, ok := settings().shared.find(k.name); ok {
			got.WriteString(strings.Replace(k.Variable, prefix, prefix+"TARGETS_n_", 1) + "\n")
		}
	}
	for name, d := range helpTexts() {
		name := strings.TrimPrefix(name, objectiveList+"_")
		if !slices.ContainsFunc(Reference(), func(k Key) bool { return k.name == name }) {
			t.Errorf("%s is described, but no setting", name)
		}
		if strings.ContainsAny(d.Help, "`|\n") || utf8.RuneCountInString(d.Help) > 80 {
			t.Errorf("%s has the help %q: want one short line", name, d.Help)
		}
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
