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

const hidden = "sk-hidden"

// printed is c in every form that something may print it in.
func printed(t *testing.T, c *Config) map[string]string {
	t.Helper()
	forms := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		forms[verb] = fmt.Sprintf(verb, *c)
		forms["unexported "+verb] = fmt.Sprintf(verb, struct{ c Config }{*c})
		forms["secret "+verb] = fmt.Sprintf(verb, c.Targets[0].APIKey)
		forms["pointer "+verb] = fmt.Sprintf(verb, &c.Targets[0].APIKey)
	}
	for form, marshal := range map[string]func(any) ([]byte, error){"JSON": json.Marshal, "YAML": yaml.Marshal} {
		text, err := marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		forms[form] = string(text)
	}
	text, err := xml.Marshal(c.Targets[0].APIKey)
	if err != nil {
		t.Fatal(err)
	}
	forms["XML"] = string(text)
	entry, err := zapcore.NewJSONEncoder(zapcore.EncoderConfig{}).EncodeEntry(zapcore.Entry{}, []zap.Field{zap.Any("config", c), zap.Any("key", c.Targets[0].APIKey)})
	if err != nil {
		t.Fatal(err)
	}
	forms["zap"] = entry.String()
	return forms
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	c := load(t, Options{Environ: withTarget("TARGETS_0_API_KEY=" + hidden + "\nTARGETS_0_HEADERS=X-A=" + hidden)})
	if got := c.Targets[0].APIKey.Reveal(); got != hidden {
		t.Fatalf("got %q, want %q", got, hidden)
	}
	for form, text := range printed(t, c) {
		hex := fmt.Sprintf("%x", hidden)
		if strings.Contains(text, hidden) || strings.Contains(text, hex) {
			t.Errorf("%s shows the secret: %s", form, text)
		}
		if !strings.Contains(text, "***") && !strings.HasPrefix(form, "unexported") {
			t.Errorf("%s does not show that there is a secret: %s", form, text)
		}
	}
}

func TestAnEmptySecretPrintsAsNothing(t *testing.T) {
	var s Secret
	if got := fmt.Sprintf("%v%s%#v%q", s, s, s, s); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
	if text, err := json.Marshal(s); err != nil || string(text) != `""` {
		t.Errorf("got %s and %v, want %q", text, err, `""`)
	}
	if s.Reveal() != "" || !s.Equal(NewSecret("")) || s.Equal(NewSecret("x")) {
		t.Error("the zero Secret is not the empty one")
	}
}
