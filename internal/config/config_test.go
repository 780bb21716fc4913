package config

import (
	"reflect"
	"slices"
	"testing"
)

func TestAttributes(t *testing.T) {
	now := &Config{LogLevel: "info", TargetsFile: "a"}
	if got, want := now.NeedRestart(&Config{LogLevel: "warn", TargetsFile: "b", GenAISemconv: true}), []string{"PROBER_LOG_LEVEL", "PROBER_GENAI_SEMCONV"}; !slices.Equal(got, want) {
		t.Errorf("%v need a restart, want %v", got, want)
	}
	target := Target{
		URL: "http://a", Name: "a", Address: "10.0.0.1", CAFile: "ca", Headers: Headers{"X-A": NewSecret("1")},
		Settings: Settings{QPS: 1, APIKey: NewSecret("sk"), DatasetFile: "set"},
	}
	want := Target{URL: "http://a", Address: "10.0.0.1", CAFile: "ca", Headers: target.Headers, Settings: Settings{APIKey: target.APIKey}}
	if got := target.Identity(); !reflect.DeepEqual(got, want) {
		t.Errorf("got identity %+v, want %+v", got, want)
	}
	target.APIKeyFile, want.APIKeyFile, want.APIKey = "key", "key", Secret{}
	if got := target.Identity(); !reflect.DeepEqual(got, want) {
		t.Errorf("with a key from a file: got identity %+v, want %+v", got, want)
	}
	if got, want := target.Files(), []string{"ca", "set"}; !slices.Equal(got, want) {
		t.Errorf("got files %v, want %v", got, want)
	}
}
