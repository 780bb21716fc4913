package engine

import (
	"slices"
	"testing"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/wire"
)

// TestLikeness holds from whom a target inherits if several asked its server: from the one of its name, even if that
// asked with another key, then from one with the same key.
func TestLikeness(t *testing.T) {
	target := func(name, url, path string) config.Target {
		t := config.Target{Name: name, URL: url}
		t.APIKeyFile = path
		return t
	}
	before := map[string]config.Target{
		"itself":                     target("a", "http://a", "key"),
		"itself with another key":    target("a", "http://a", "other"),
		"another with the same key":  target("b", "http://a", "key"),
		"another with another key":   target("b", "http://a", "other"),
		"itself with another server": target("a", "http://b", "key"),
	}
	now := target("a", "http://a", "key")
	var order []string
	for name, old := range before {
		if likeness(now, old) > 0 {
			order = append(order, name)
		}
	}
	slices.SortFunc(order, func(a, b string) int { return likeness(now, before[b]) - likeness(now, before[a]) })
	want := []string{"itself", "itself with another key", "another with the same key", "another with another key"}
	if !slices.Equal(order, want) {
		t.Errorf("inherits from %q, want %q", order, want)
	}
}

// TestSameSeries holds that results for equal settings are of one series only if they were asked with one data set.
func TestSameSeries(t *testing.T) {
	job := func(set [][]wire.Turn) *Job {
		asked := length.New(length.Options{Prompts: prompt.Options{Dataset: set}}, length.NewBook())
		return &Job{
			Targets: []config.Target{{Name: "a", Prompts: []config.Prompt{{Share: 1}}}},
			Length:  length.NewRotation([]*length.Questions{asked}, []int{1}),
		}
	}
	first, second := [][]wire.Turn{{{Text: "x"}}}, [][]wire.Turn{{{Text: "y"}}}
	for name, test := range map[string]struct {
		before, now [][]wire.Turn
		want        bool
	}{
		"no data set":               {nil, nil, true},
		"the same data set":         {first, first, true},
		"another one of its length": {first, second, false},
		"another length":            {first, append(second, first...), false},
		"a data set at last":        {nil, first, false},
	} {
		if got := sameSeries("a", job(test.before), 0, job(test.now), 0); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
