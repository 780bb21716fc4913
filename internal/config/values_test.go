package config

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.yaml.in/yaml/v4"
)

// TestSecretsAreNeverPrinted holds that no way to print a configuration, or a part of it, shows a secret, and that each
// shows that there is one.
func TestSecretsAreNeverPrinted(t *testing.T) {
	const hidden = "sk-hidden"
	c := load(t, Options{Environ: withTarget("TARGETS_0_API_KEY="+hidden, "TARGETS_0_HEADERS=X-A="+hidden)})
	key := c.Targets[0].APIKey
	if got := key.Reveal(); got != hidden {
		t.Fatalf("got %q, want %q", got, hidden)
	}
	log := func(v any) ([]byte, error) {
		encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{})
		entry, err := encoder.EncodeEntry(zapcore.Entry{}, []zap.Field{zap.Any("config", v), zap.Any("key", key)})
		return entry.Bytes(), err
	}
	encodeKey := func(any) ([]byte, error) { return xml.Marshal(key) }
	var forms []string
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal, log, encodeKey} {
		text, err := marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		forms = append(forms, string(text))
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{*c, key, &key} {
			forms = append(forms, fmt.Sprintf(verb, value))
		}
		unexported := fmt.Sprintf(verb, struct{ c Config }{*c}) // in which fmt prints the secret as an address
		forms = append(forms, unexported+"***")
	}
	for _, text := range forms {
		if strings.Contains(text, hidden) || strings.Contains(text, fmt.Sprintf("%x", hidden)) {
			t.Errorf("shows the secret: %s", text)
		}
		if !strings.Contains(text, "***") {
			t.Errorf("does not show that there is a secret: %s", text)
		}
	}
}

func TestTheEmptySecretPrintsAsNothing(t *testing.T) {
	var none Secret
	text, err := json.Marshal(none)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%v%s%#v%q%s", none, none, none, none, text); got != `""` {
		t.Errorf("got %s", got)
	}
}

func TestShards(t *testing.T) {
	for text, want := range map[string]Shard{
		"0/1":                 {Index: 0, Of: 1},
		"999/1000":            {Index: 999, Of: 1000},
		"007/8":               {Index: 7, Of: 8},
		"my-llm-prober-11/12": {Index: 11, Of: 12},
	} {
		var got Shard
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":             "not a shard",
		"3":            "not a shard",
		"-1/3":         "not a shard",
		"prober-abc/3": "not a shard",
		"0/0":          "must have 1 to 1000 shards",
		"0/1001":       "must have 1 to 1000 shards",
		"3/3":          "the last of 3 shards is 2",
	} {
		var got Shard
		if err := got.UnmarshalText([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: got %+v, %v, want %s", text, got, err, want)
		}
	}
}

// TestGenAI holds which words a version may be, and that on means the newest.
func TestGenAI(t *testing.T) {
	for text, want := range map[string]GenAI{
		"": GenAIOff, "off": GenAIOff, "False": GenAIOff, "v1.41": GenAI141, "V1.41": GenAI141, "on": GenAI141, "true": GenAI141,
	} {
		if got := load(t, Options{Environ: withTarget("GENAI_SEMCONV=" + text)}).GenAISemconv; got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
