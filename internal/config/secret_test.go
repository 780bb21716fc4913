package config

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.yaml.in/yaml/v3"
)

// TestSecretsAreNeverPrinted holds that no way to print a configuration or a part of it shows a secret, but that there is one.
func TestSecretsAreNeverPrinted(t *testing.T) {
	const hidden = "sk-hidden"
	c := load(t, Options{Environ: withTarget("TARGETS_0_API_KEY=" + hidden + "\nTARGETS_0_HEADERS=X-A=" + hidden)})
	key := c.Targets[0].APIKey
	if got := key.Reveal(); got != hidden {
		t.Fatalf("got %q, want %q", got, hidden)
	}
	var forms []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{*c, key, &key} {
			forms = append(forms, fmt.Sprintf(verb, value))
		}
		forms = append(forms, fmt.Sprintf("unexported "+verb, struct{ c Config }{*c})+"***") // fmt prints pointers there
	}
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{})
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal, func(v any) ([]byte, error) {
		entry, err := encoder.EncodeEntry(zapcore.Entry{}, []zap.Field{zap.Any("config", v), zap.Any("key", key)})
		return entry.Bytes(), err
	}, func(any) ([]byte, error) { return xml.Marshal(key) }} {
		text, err := marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		forms = append(forms, string(text))
	}
	for _, text := range forms {
		if strings.Contains(text, hidden) || strings.Contains(text, fmt.Sprintf("%x", hidden)) || !strings.Contains(text, "***") {
			t.Errorf("shows the secret, or not that there is one: %s", text)
		}
	}
	var none Secret
	text, err := json.Marshal(none)
	if got := fmt.Sprintf("%v%s%#v%q", none, none, none, none); got != "" || err != nil || string(text) != `""` {
		t.Errorf("without a secret got %q, %s and %v, want nothing", got, text, err)
	}
}
