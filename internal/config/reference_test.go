package config

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"unicode/utf8"

	"github.com/llm-prober/prober/internal/testing/golden"
)

var (
	//go:embed testdata/reference.md.tmpl
	referenceText string
	//go:embed testdata/example.yaml
	exampleFile string // a targets file with a group, headers and objectives
)

// TestGeneratedFiles holds that docs/configuration.md and the JSON Schema are what the tags and the help say now.
func TestGeneratedFiles(t *testing.T) {
	all := newSchema()
	var page strings.Builder
	parsed := template.Must(template.New("reference").Funcs(template.FuncMap{"short": short}).Parse(referenceText))
	err := parsed.Execute(&page, map[string]any{
		"Prober": all.prober.keys, "Shared": all.shared.keys, "Targets": all.own(), "Prompts": all.prompt.keys, "Objectives": all.objective.keys,
		"Sources": all.source.keys,
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "../../docs/configuration.md", page.String())
	golden.Equal(t, "../../docs/targets.schema.json", string(Schema()))
}

// short returns a help text without its list of words if that list is long.
func short(help string) string {
	text, words, _ := strings.Cut(help, "; one of ")
	if strings.Count(words, ",") < 8 {
		return help
	}
	return text
}

// TestExamples holds that the example of prober config example, which has the defaults, and that of the documentation
// are valid.
func TestExamples(t *testing.T) {
	for text, targets := range map[string]int{Example(): 1, exampleFile: 3} {
		c := load(t, withFile(text))
		if len(c.Targets) != targets || c.Warnings != nil {
			t.Errorf("%d targets and the warnings %q, want %d and none:\n%s", len(c.Targets), c.Warnings, targets, text)
		}
		if !strings.HasPrefix(text, "# yaml-language-server: $schema="+schemaURL+"\n") {
			t.Errorf("no schema for editors:\n%s", text)
		}
	}
	want := load(t, Options{URLs: []string{"http://a"}}).Targets[0]
	got := load(t, withFile(Example())).Targets[0]
	for _, k := range newSchema().shared.keys {
		if k.text(&got) != k.text(&want) {
			t.Errorf("the example has %s %s, and the default is %s", k.fileKey(), k.text(&got), k.text(&want))
		}
	}
}

// TestSettingsAreDescribed holds that each setting has a line of help and no tag that nothing reads, and that help.txt
// has no line without a setting.
func TestSettingsAreDescribed(t *testing.T) {
	known := []string{"env", "envDefault", "oneof", "min", "max", "optional", "format", "shared", "file", "reload"}
	tag := regexp.MustCompile(`([a-zA-Z]+):"`)
	names := map[string]bool{}
	for _, k := range Reference() {
		name := strings.TrimPrefix(strings.TrimPrefix(k.Variable, prefix), "TARGETS_n_")
		names[strings.Replace(name, "_n_", "_", 1)] = true
		if k.Help == "" || strings.HasPrefix(k.Help, ";") { // words and bounds alone
			t.Errorf("%s has no line in help.txt: say there, under a [topic], what it does", k.Variable)
		}
		for _, found := range tag.FindAllStringSubmatch(string(k.field.Tag), -1) {
			if !slices.Contains(known, found[1]) {
				t.Errorf("%s has the tag %s", k.Variable, found[1])
			}
		}
	}
	for name, line := range helpLines() {
		if !names[name] {
			t.Errorf("help.txt has a line for %s, which is no setting", name)
		}
		if strings.ContainsAny(line.text, "`|\n") || utf8.RuneCountInString(line.text) > 80 {
			t.Errorf("%s has the help %q: want one short line", name, line.text)
		}
	}
}
