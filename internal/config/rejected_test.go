package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRejected holds that a wrong target does not stop the others, and the name by which it is rejected. A finite run
// and prober config show refuse it.
func TestRejected(t *testing.T) {
	for _, test := range []struct {
		name     string
		file     string // the target in the file, beside a valid one in the environment
		environ  string
		rejected map[string]string // parts of the problems, by target
	}{
		{
			name: "no key file", file: "{name: a, url: http://a, api_key_file: no}",
			rejected: map[string]string{"a": "no such file"},
		},
		{name: "no name", file: "{url: http://a, modle: m}", rejected: map[string]string{"a:80": "unknown key"}},
		{name: "no URL", file: "{model: m}", rejected: map[string]string{"f.yaml:2": "not given"}},
		{name: "no mapping", file: "http://a", rejected: map[string]string{"f.yaml:2": "is a single value"}},
		{
			name: "a variable", environ: "TARGETS_1_URL=ftp://a",
			rejected: map[string]string{"PROBER_TARGETS_1": "not an http or https URL"},
		},
		{
			name: "a name that is taken", file: "{name: one, url: http://a}",
			rejected: map[string]string{"one (2)": "already taken by PROBER_TARGETS_0_NAME"},
		},
		{
			name:     "a name that is taken twice",
			file:     "{name: a, url: a.b}\n- {name: a, url: http://a}\n- {name: a, url: http://b}",
			rejected: map[string]string{"a": "has no scheme", "a (2)": "already taken", "a (3)": "already taken"},
		},
		{
			name: "another prompt than that of its group", file: "{name: a, url: http://a, group: one, max_tokens: 5}",
			rejected: map[string]string{"a": `in group "one", but have max_tokens 100 (default) and 5`},
		},
		{
			name: "a key file for all that it alone uses", file: "{name: a, url: http://a}",
			environ:  "API_KEY_FILE=no\nTARGETS_0_API_KEY=sk",
			rejected: map[string]string{"a": "no such file"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := withFile("targets:\n- "+test.file, "TARGETS_0_URL=http://one\nTARGETS_0_NAME=one", test.environ)
			if test.file == "" {
				delete(o.Environ, "PROBER_TARGETS_FILE")
			}
			c := load(t, o)
			if len(c.Targets) != 1 || c.Targets[0].Name != "one" {
				t.Errorf("targets %+v, want one", c.Targets)
			}
			got := map[string]string{}
			for _, r := range c.Rejected {
				got[r.Name] = r.Problems.Error()
				if part := test.rejected[r.Name]; part != "" && strings.Contains(got[r.Name], part) {
					got[r.Name] = part
				}
			}
			if diff := cmp.Diff(test.rejected, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			o.Finite = true
			_, finite := Load(o)
			_, _, shown := Effective(o)
			for _, err := range []error{finite, shown} {
				if err == nil || err.Error() != c.Problems().Error() {
					t.Errorf("got the error %v, want %v", err, c.Problems())
				}
			}
		})
	}
}

// TestRejectedTargetsHaveLabels holds that a rejected target has its valid labels, by which alerts reach its team.
func TestRejectedTargetsHaveLabels(t *testing.T) {
	for labels, want := range map[string]Labels{
		"{team: search}":             {"region": "eu", "team": "search"},
		"{team: search, region: us}": {"region": "us", "team": "search"},
		"{job: search}":              {"region": "eu"},
	} {
		c := load(t, withFile("targets:\n- {name: a, url: http://a, qps: fast, labels: "+labels+"}",
			"LABELS=region=eu\nTARGETS_0_URL=http://one", ""))
		if diff := cmp.Diff([]Labels{want}, []Labels{c.Rejected[0].Labels}); diff != "" {
			t.Errorf("%s: -want +got\n%s", labels, diff)
		}
	}
}

// TestRefused holds that a mistake which belongs to no target, or to all, is an error.
func TestRefused(t *testing.T) {
	for _, test := range []struct{ name, file, environ, problem string }{
		{name: "a key file for all", environ: "API_KEY_FILE=no", file: "{name: a, url: http://a}", problem: "1 problem"},
		{name: "a value for all", environ: "QPS=fast\nTARGETS_0_QPS=0.2", problem: "1 problem"},
		{name: "an unknown variable", environ: "TARGETS_0_MODLE=m", problem: "unknown variable"},
		{name: "an objective", environ: "OBJECTIVES_0_SIGNAL=ttft", problem: "needs a limit"},
		{name: "a file", file: "[", problem: "not YAML"},
		{name: "all targets", environ: "TARGETS_0_MAX_TOKENS=x", file: "{url: http://a, modle: m}", problem: "2 problems"},
	} {
		o := withFile("targets:\n- "+test.file, "TARGETS_0_URL=http://one\nTARGETS_0_NAME=one", test.environ)
		if test.file == "" {
			delete(o.Environ, "PROBER_TARGETS_FILE")
		}
		if _, err := Load(o); err == nil || !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %v, want %s", test.name, err, test.problem)
		}
	}
}
