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
