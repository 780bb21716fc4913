package config

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/usage"
)

// TestRejected holds that a target which is wrong does not stop the others, under which name it is rejected, and that
// mistakes which are nobody's own stop all.
func TestRejected(t *testing.T) {
	content := map[string]string{"empty": "\n", "there": "sk"}
	for name, test := range map[string]struct {
		file     string // of the targets beside the one of the environment
		environ  string
		rejected map[string]string // the problems by target
		refused  string            // part of the error, where nothing is probed
	}{
		"a missing key file": {
			file: "{name: a, url: http://a, api_key_file: no}", rejected: map[string]string{"a": "no such file"},
		},
		"an empty key file":     {file: "{url: http://a, api_key_file: empty}", rejected: map[string]string{"a:80": "is empty"}},
		"a misspelt key":        {file: "{name: a, url: http://a, modle: m}", rejected: map[string]string{"a": "unknown key"}},
		"a target without URL":  {file: "{model: m}", rejected: map[string]string{"f.yaml:2": "not given"}},
		"a target that is text": {file: "http://a", rejected: map[string]string{"f.yaml:2": "is a single value"}},
		"a variable of one target": {
			environ: "TARGETS_1_URL=ftp://a", rejected: map[string]string{"PROBER_TARGETS_1": "not an http or https URL"},
		},
		"a name that is taken": {
			file: "{name: one, url: http://a}", rejected: map[string]string{"one (2)": "already taken by PROBER_TARGETS_0_NAME"},
		},
		"a name that is taken thrice": {
			file:     "{name: a, url: a.b}\n- {name: a, url: http://a}\n- {name: a, url: http://b}",
			rejected: map[string]string{"a": "has no scheme", "a (2)": "already taken", "a (3)": "already taken"},
		},
		"a member that is asked something else": {
			file:     "{name: a, url: http://a, group: one, max_tokens: 5}",
			rejected: map[string]string{"a": `in group "one", but have max_tokens 100 (default) and 5`},
		},
		"a key file that one target uses": {
			environ: "API_KEY_FILE=no\nTARGETS_0_API_KEY=sk", file: "{name: a, url: http://a}",
			rejected: map[string]string{"a": "no such file"},
		},
		"a key file that all targets use": {environ: "API_KEY_FILE=no", file: "{name: a, url: http://a}", refused: "1 problem"},
		"a wrong value for all":           {environ: "QPS=fast\nTARGETS_0_QPS=0.2", refused: "1 problem"},
		"an unknown variable":             {environ: "TARGETS_0_MODLE=m", refused: "unknown variable"},
		"a wrong objective":               {environ: "OBJECTIVES_0_SIGNAL=ttft", refused: "needs a limit"},
		"a file that is not YAML":         {file: "[", refused: "not YAML"},
		"no target that is right": {
			environ: "TARGETS_0_MAX_TOKENS=x", file: "{name: a, url: http://a, modle: m}", refused: "2 problems",
		},
	} {
		environment := environ("TARGETS_0_URL=http://one\nTARGETS_0_NAME=one\n" + test.environ)
		content := maps.Clone(content)
		if test.file != "" {
			environment[prefix+"TARGETS_FILE"], content["f.yaml"] = "f.yaml", "targets:\n- "+test.file
		}
		o := Options{Environ: environment, ReadFile: files(content)}
		c, err := Load(o)
		if test.refused != "" {
			problems, ok := errors.AsType[usage.Problems](err)
			if !ok || !strings.Contains(problems.Error(), test.refused) {
				t.Errorf("%s: %v, want %s", name, err, test.refused)
			}
			continue
		}
		if err != nil || len(c.Targets) != 1 || c.Targets[0].Name != "one" {
			t.Errorf("%s: %v, %+v", name, err, c)
			continue
		}
		got := map[string]string{}
		for _, r := range c.Rejected {
			got[r.Name] = test.rejected[r.Name]
			if test.rejected[r.Name] == "" || !strings.Contains(r.Problems.Error(), test.rejected[r.Name]) {
				t.Errorf("%s: %s is rejected for %v, want %q", name, r.Name, r.Problems, test.rejected[r.Name])
			}
		}
		if diff := cmp.Diff(test.rejected, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		o.Finite = true
		if _, err := Load(o); err == nil || err.Error() != c.Problems().Error() {
			t.Errorf("%s: a run that ends is begun, or refused for %v", name, err)
		}
		if _, _, err := Effective(o); err == nil {
			t.Errorf("%s: it is shown as right", name)
		}
	}
}
