package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tagged returns the type of each field of v by the name in its env tag.
func tagged(v reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(v) {
		if name := field.Tag.Get("env"); name != "" {
			fields[name] = field.Type
		}
	}
	return fields
}

func TestTagsAndKeysAgree(t *testing.T) {
	types := map[kind]reflect.Type{
		numberKind: reflect.TypeFor[float64](), ratioKind: reflect.TypeFor[float64](), wholeKind: reflect.TypeFor[int](),
		optionalKind: reflect.TypeFor[*int](), shareKind: reflect.TypeFor[float64](),
		durationKind: reflect.TypeFor[time.Duration](), onOffKind: reflect.TypeFor[bool](),
		secretKind: reflect.TypeFor[Secret](), headersKind: headersType,
		shardKind: reflect.TypeFor[Shard](),
	}
	for of, scopes := range map[reflect.Type][]scope{
		reflect.TypeFor[Config]():    {proberScope},
		reflect.TypeFor[Target]():    {sharedScope, targetScope},
		reflect.TypeFor[Objective](): {objectiveScope},
	} {
		want := map[string]string{}
		for _, k := range keys(nil, nil).in(scopes...) {
			want[k.name] = "string"
			if special, ok := types[k.kind]; ok {
				want[k.name] = special.String()
			}
		}
		got := map[string]string{}
		for name, field := range tagged(of) {
			got[name] = field.String()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: -keys +fields\n%s", of, diff)
		}
	}
}

func TestKeysAreWhole(t *testing.T) {
	for _, k := range keys(apis, servers) {
		if k.help == "" || strings.ContainsAny(k.help, "`|\n") || strings.HasSuffix(k.help, ".") {
			t.Errorf("%s: help %q is not a plain phrase", k.name, k.help)
		}
		if _, f := k.check(k.fallback); k.fallback != "" && f != nil {
			t.Errorf("%s: default %q %s", k.name, k.fallback, f.text)
		}
		if (k.kind == wordKind) != (len(k.words) > 0) && !slices.Contains([]kind{wholeKind, optionalKind, durationKind}, k.kind) {
			t.Errorf("%s: words are %q", k.name, k.words)
		}
	}
}

func TestReference(t *testing.T) {
	find := func(variable string) Key {
		all := Reference()
		i := slices.IndexFunc(all, func(k Key) bool { return k.Variable == variable })
		if i < 0 {
			t.Fatalf("no %s", variable)
		}
		return all[i]
	}
	for _, want := range []Key{
		{Variable: "PROBER_PROMPT_TOKENS", Flag: "prompt-tokens", Default: "21000", Help: "exact length of a prompt in tokens, with sessions that of the first round; 16 to 1000000", PerTarget: true},
		{Variable: "PROBER_LOG_FORMAT", Flag: "log-format", Default: "json; console on a terminal", Help: "how log entries are written: json or console"},
		{Variable: "PROBER_API_KEY", Flag: "api-key", Default: "none", Help: "key that is sent with each request, without Bearer", PerTarget: true, Secret: true},
		{Variable: "PROBER_TARGETS_n_URL", Help: "base URL as clients get it; /v1 may be missing where there is no other path, http:// before loopback and private names, and an endpoint at its end is cut off; with dns+ in front (dns+http://…) it stands for one target for each address of its host", PerTarget: true},
		{Variable: "PROBER_TARGETS_n_INSECURE_SKIP_VERIFY", Flag: "insecure-skip-verify", Default: "off", Help: "do not verify the server's certificate", PerTarget: true, Switch: true},
		{Variable: "PROBER_OBJECTIVES_n_GOAL", Help: "ratio of probes that shall be good, between 0 and 1"},
	} {
		if diff := cmp.Diff(want, find(want.Variable)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

func TestEveryFlagIsAnOverride(t *testing.T) {
	overrides := map[string]string{}
	for _, k := range Reference() {
		if k.Flag != "" {
			overrides[strings.ToUpper(strings.ReplaceAll(k.Flag, "-", "_"))] = "\x00"
		}
	}
	got := problems(t, Options{Overrides: overrides, URLs: []string{"http://a"}})
	if strings.Contains(got, "unknown flag") {
		t.Error(got)
	}
	if lines := strings.Count(got, "\n") + 1; lines != len(overrides) {
		t.Errorf("%d flags, %d problems\n%s", len(overrides), lines, got)
	}
}

func TestMarkdownNamesEverything(t *testing.T) {
	text := Markdown()
	for _, k := range Reference() {
		row := "| `" + k.Variable + "` | "
		if k.Flag != "" {
			row += "`--" + k.Flag + "`"
		}
		if row += " | " + k.Default + " | " + k.Help + " |\n"; !strings.Contains(text, row) {
			t.Errorf("no row %q", row)
		}
	}
	for _, part := range []string{exampleFile, "≥ 3", "| 0.1 | 0.99942 |", "| 0.01 | 0.9942 |"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q", part)
		}
	}
}

func TestTheExampleOfTheDocumentationLoads(t *testing.T) {
	c := load(t, Options{Environ: environ("TARGETS_FILE=f.yaml"), ReadFile: files(map[string]string{"f.yaml": exampleFile})})
	if len(c.Targets) != 3 || len(c.Objectives) != 2 || len(c.Warnings) != 0 {
		t.Errorf("got %+v", c)
	}
}
