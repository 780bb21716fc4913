package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNeedRestart(t *testing.T) {
	now := &Config{LogLevel: "info", TargetsFile: "a"}
	next := &Config{LogLevel: "warn", TargetsFile: "b", GenAISemconv: GenAI141}
	want := []string{"PROBER_LOG_LEVEL", "PROBER_GENAI_SEMCONV"}
	if diff := cmp.Diff(want, now.NeedRestart(next)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestIdentity(t *testing.T) {
	target := Target{
		URL: "http://a", Name: "a", Address: "10.0.0.1", CAFile: "ca", Headers: Headers{"X-A": NewSecret("1")},
		QPS: 1, APIKey: NewSecret("sk"), DatasetFile: "set",
	}
	want := target
	want.Name, want.QPS, want.DatasetFile = "", 0, ""
	if diff := cmp.Diff(want, target.Identity(), secrets); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	target.APIKeyFile = "key"
	want.APIKey, want.APIKeyFile = Secret{}, "key"
	if diff := cmp.Diff(want, target.Identity(), secrets); diff != "" {
		t.Errorf("with a key from a file: -want +got\n%s", diff)
	}
}

// TestLoadWithoutTargets holds that an invalid setting has its default and is named, that the others are as they were
// given, and that neither targets nor the settings that a reload reads again are looked at.
func TestLoadWithoutTargets(t *testing.T) {
	got, invalid := LoadWithoutTargets(Options{
		Environ: withTarget("LOG_LEVEL=loud\nLOG_FORMAT=console\nDNS_INTERVAL=2m\nQPS=fast",
			"SHARD=0/3\nTARGETS_FILE=no\nWEB_CONFIG_FILE=no\nOBJECTIVES_0_GOAL=5\nUNKNOWN=1"),
		Overrides: map[string]string{"LISTEN_ADDRESS": ":1", "DRAIN_ENDPOINT": "on"},
		ReadFile:  files(nil),
	})
	want := load(t, Options{
		Environ: withTarget("LOG_FORMAT=console\nDNS_INTERVAL=2m\nLISTEN_ADDRESS=:1\nDRAIN_ENDPOINT=on"),
	})
	want.Targets = nil
	if diff := cmp.Diff(want, got, secrets); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	areInvalid := map[string]bool{}
	for _, name := range invalid {
		areInvalid[name] = true
	}
	if diff := cmp.Diff(map[string]bool{"LOG_LEVEL": true, "WEB_CONFIG_FILE": true}, areInvalid); diff != "" {
		t.Errorf("invalid: -want +got\n%s", diff)
	}
}

// TestDestination holds that who asks is no part of which server is asked: neither keys and certificates nor credentials
// in headers.
func TestDestination(t *testing.T) {
	target := Target{
		URL: "http://a", Name: "a", Address: "10.0.0.1", CAFile: "ca", CertFile: "cert", KeyFile: "key", Model: "m",
		Headers: Headers{"X-Cluster": NewSecret("1"), "Authorization": NewSecret("Bearer sk"), "X-Api-Key": NewSecret("sk")},
		QPS:     1, APIKey: NewSecret("sk"), APIKeyFile: "file",
		OAuthTokenURL: "http://login", OAuthClientID: "id", OAuthSecret: NewSecret("sk"), OAuthSecretFile: "file",
		OAuthScopes: "all", OAuthClientAuth: "body",
	}
	want := Target{URL: "http://a", Address: "10.0.0.1", Model: "m", Headers: Headers{"X-Cluster": NewSecret("1")}}
	if diff := cmp.Diff(want, target.Destination(), secrets); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
