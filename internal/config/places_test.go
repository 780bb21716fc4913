package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlaces holds in which form the settings of a target are named: in that of the source that gives them or, where
// none does, in that of the target itself.
func TestPlaces(t *testing.T) {
	const file = `timeout: 9s
targets:
- url: http://a
  model: big
  api_key_file: key
`
	inFile := withFile(file, "PROMPT_TOKENS=100")
	inFile.ReadFile = files(map[string]string{"f.yaml": file, "key": "sk-0"})
	for source, test := range map[string]struct {
		from Options
		want map[string]string
	}{
		"targets file": {inFile, map[string]string{
			"model": "model in f.yaml:4", "timeout": "timeout in f.yaml:1", "ca_file": "ca_file in f.yaml:3",
			"headers": "headers in f.yaml:3", "api_key": "api_key_file in f.yaml:5",
			"prompt_tokens": "PROBER_PROMPT_TOKENS",
		}},
		"environment": {Options{Environ: withTarget("TARGETS_0_MODEL=big", "TIMEOUT=9s", "API_KEY=sk-0")}, map[string]string{
			"model": "PROBER_TARGETS_0_MODEL", "timeout": "PROBER_TIMEOUT", "ca_file": "PROBER_TARGETS_0_CA_FILE",
			"headers": "PROBER_TARGETS_0_HEADERS", "api_key": "PROBER_API_KEY",
			"prompt_tokens": "PROBER_TARGETS_0_PROMPT_TOKENS",
		}},
		"flags": {
			Options{URLs: []string{"http://a"}, Overrides: map[string]string{"MODEL": "big"}, Environ: environ("TIMEOUT=9s")},
			map[string]string{
				"model": "--model", "timeout": "PROBER_TIMEOUT", "ca_file": "--ca-file", "headers": "", // it has no flag
				"api_key": "--api-key-file", "prompt_tokens": "--prompt-tokens",
			},
		},
	} {
		got := map[string]string{}
		places := load(t, test.from).Targets[0].Places
		for setting := range test.want {
			got[setting] = places[setting]
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", source, diff)
		}
	}
}
