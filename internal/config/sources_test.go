package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// examples are values that are no defaults, by the tag format of a setting or, without it, by its type. They are
// written as they print.
var examples = map[string]string{
	"int": "3", "*int": "3", "float64": "0.25", "time.Duration": "17s", "string": "text", "config.Secret": "sk",
	"config.Headers": "X-A=1=2", "config.Labels": "team=a=b", "config.Shard": "2/3", "config.GenAI": "v1.41",
	"config.Body":   `{"seed":3}`,
	"config.Depths": "0.25,0.75",

	"rate": "2", "tokens": "101", "limit": "17s", "ratio": "0.5", "address": "127.0.0.1:80", "file": "there",
	"header": "x-user-id", "host": "chat.example.com", "identifier": "steady", "name": "one", "path": "/my/chat",
	"website": "https://grafana.example.com", "token-url": "https://login/t?v=2", "url": "https://llm.example.com/v1",
}

// exampleOf returns a value of a setting that is not its default.
func exampleOf(t *testing.T, k Key, owner any) string {
	t.Helper()
	if k.Switch {
		return strconv.FormatBool(k.Default == "off")
	}
	for _, word := range slices.Backward(k.words) {
		if word != k.Default {
			return word
		}
	}
	text, ok := examples[cmp.Or(k.field.Tag.Get("format"), k.value(owner).Type().String())]
	if !ok || text == k.Default {
		t.Fatalf("%s: examples has no value for it", k.Variable)
	}
	return text
}

// TestSourcesAgree holds that each setting has the same value from the environment, from the targets file and from
// flags, if it can stand there. The test takes all of them from the structs.
func TestSourcesAgree(t *testing.T) {
	s := newSchema()
	variables, flags := map[string]string{}, map[string]string{}
	file := map[string]string{"prober": "", "target": "", "prompt": "", "objective": ""}
	want := map[string]string{} // by variable
	add := func(keys []Key, owner any, section, before, indent string) {
		for _, k := range keys {
			switch k.name {
			case "API_KEY", "API_KEY_FILE", "OAUTH_SECRET": // they replace others: see TestAPIKey, TestOAuth
				continue
			}
			text := exampleOf(t, k, owner)
			want[k.Variable] = text
			variables[before+k.name] = text
			if k.Flag != "" {
				flags[k.name] = text
			}
			if k.kind.newMapping != nil {
				text = "{" + strings.Replace(text, "=", ": ", 1) + "}"
			}
			if k.kind.isList {
				text = "[" + text + "]"
			}
			if section != "prober" || k.has("file") {
				file[section] += indent + k.fileKey() + ": " + text + "\n"
			}
		}
	}
	add(s.prober.keys, new(Config), "prober", prefix, "")
	add(s.target.keys, new(Target), "target", prefix+"TARGETS_0_", "  ")
	add(s.prompt.keys, new(Prompt), "prompt", prefix+"TARGETS_0_PROMPTS_0_", "    ")
	add(s.objective.keys, new(objectiveSettings), "objective", prefix+"TARGETS_0_OBJECTIVES_0_", "    ")
	content := files(map[string]string{
		"there":  "# a secret, and a targets file without targets",
		"f.yaml": file["prober"] + "targets:\n-\n" + file["target"] + "  prompts:\n  -\n" + file["prompt"] + "  objectives:\n  -\n" + file["objective"],
	})
	for source, test := range map[string]struct {
		from   Options
		misses func(k Key, ofProber bool) bool // the source cannot have the setting
	}{
		"environment": {
			from:   Options{Environ: variables, ReadFile: content},
			misses: func(Key, bool) bool { return false },
		},
		"targets file": {
			from:   Options{Environ: environ("TARGETS_FILE=f.yaml"), ReadFile: content},
			misses: func(k Key, ofProber bool) bool { return ofProber && !k.has("file") },
		},
		"flags": {
			from:   Options{Overrides: flags, URLs: []string{examples["url"]}, ReadFile: content},
			misses: func(k Key, _ bool) bool { return k.Flag == "" && k.name != "URL" },
		},
	} {
		c := load(t, test.from)
		objective := objectiveSettings(c.Targets[0].Objectives[0])
		for owner, keys := range map[any][]Key{
			c: s.prober.keys, &c.Targets[0]: s.target.keys,
			&c.Targets[0].Prompts[0]: s.prompt.keys, &objective: s.objective.keys,
		} {
			for _, k := range keys {
				want, isGiven := want[k.Variable]
				if !isGiven || test.misses(k, owner == any(c)) {
					continue
				}
				got := k.text(owner)
				switch v := k.pointer(owner).(type) {
				case *Secret:
					got = v.Reveal()
				case *Headers:
					got = "X-A=" + (*v)["X-A"].Reveal()
				}
				if got != want {
					t.Errorf("%s from %s: got %s, want %s", k.Variable, source, got, want)
				}
			}
		}
	}
}

// TestNone holds that a setting which is optional can be switched off by the word none, and is shown so.
func TestNone(t *testing.T) {
	s := newSchema()
	for _, k := range slices.Concat(s.prober.keys, s.shared.keys) {
		if k.optional {
			c := load(t, Options{Environ: withTarget(strings.TrimPrefix(k.Variable, prefix) + "=none")})
			owner := any(c)
			if k.Shared {
				owner = &c.Targets[0]
			}
			want := none
			if k.name == "PRIORITY" { // whose absence is nil, and is not shown
				want = ""
			}
			got := k.text(owner)
			if !k.value(owner).IsZero() || got != want {
				t.Errorf("%s is shown as %q, want %q", k.Variable, got, want)
			}
		}
	}
}

func TestLinksEndWithoutSlash(t *testing.T) {
	c := load(t, Options{Environ: withTarget("GRAFANA_URL=https://a/", "EXTERNAL_URL=https://b/c//")})
	if c.GrafanaURL != "https://a" || c.ExternalURL != "https://b/c" {
		t.Errorf("got %s and %s", c.GrafanaURL, c.ExternalURL)
	}
}
