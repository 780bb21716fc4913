package prompt

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFormsAskForTheirValues holds that a prompt names the values that its answer must have, that the schema allows
// them and is the same for all prompts, that each value is drawn, and that all prompts count the same.
func TestFormsAskForTheirValues(t *testing.T) {
	asked := regexp.MustCompile(`first is (\w+) and second is (\w+) and final is (\w+) and not \w+ and nothing else\.$`)
	for workload, isCall := range map[Workload]bool{Tool: true, JSON: false} {
		o := Options{Workload: workload, Tokens: 500, Seed: 3}
		drawn, sorted, schemas := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for round := range uint64(300) {
			p := Write(o, round, Size{Words: 400, Pads: 2})
			found := asked.FindStringSubmatch(p.Text)
			if found == nil {
				t.Fatalf("%s: asks for nothing in %q", workload, p.Text)
			}
			values := fmt.Sprint(p.Values["first"], " ", p.Values["second"], " ", p.Values["final"])
			if want := strings.Join(found[1:], " "); values != want || found[1] == found[2] {
				t.Errorf("%s: expects %q, asks for %q", workload, values, want)
			}
			for _, value := range found[1:] {
				drawn[value] = true
			}
			schemas[string(p.Form.Schema)] = true
			if p.Form.IsCall != isCall || p.Uncacheable == 0 || p.Salt == "" {
				t.Errorf("%s: %+v", workload, p)
			}
			sorted[strings.Join(slices.Sorted(strings.FieldsSeq(p.Text)), " ")] = true
		}
		var schema struct {
			Properties map[string]struct{ Enum []string }
			Required   []string
		}
		for text := range schemas {
			err := json.Unmarshal([]byte(text), &schema)
			if err != nil {
				t.Fatal(err)
			}
		}
		fields := slices.Sorted(maps.Keys(schema.Properties))
		if !slices.Equal(fields, slices.Sorted(slices.Values(schema.Required))) {
			t.Errorf("%s: the schema has %q and requires %q", workload, fields, schema.Required)
		}
		for _, word := range schema.Properties["first"].Enum {
			if !drawn[word] {
				t.Errorf("%s: %q is never drawn", workload, word)
			}
		}
		if len(drawn) != formWords+2 || len(sorted) != 1 || len(schemas) != 1 {
			t.Errorf("%s: %d values, %d sets of words, %d schemas", workload, len(drawn), len(sorted), len(schemas))
		}
	}
}
