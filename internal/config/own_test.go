package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLoadOwn holds that what is invalid has its default and is named, that all else of the prober itself is as it is
// given, and that neither targets nor what a reload reads again are looked at.
func TestLoadOwn(t *testing.T) {
	got, invalid := LoadOwn(Options{
		Environ: withTarget("LOG_LEVEL=loud\nLOG_FORMAT=console\nDNS_INTERVAL=2m\nQPS=fast\nSHARD=9/3\n" +
			"WEB_CONFIG_FILE=no\nTARGETS_FILE=no\nOBJECTIVES_0_GOAL=5\nUNKNOWN=1"),
		Overrides: map[string]string{"LISTEN_ADDRESS": ":1", "DRAIN_ENDPOINT": "on"},
		ReadFile:  files(nil),
	})
	want := load(t, Options{Environ: withTarget("LOG_FORMAT=console\nDNS_INTERVAL=2m\nLISTEN_ADDRESS=:1\nDRAIN_ENDPOINT=on")})
	want.Targets = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	slices.Sort(invalid)
	if diff := cmp.Diff([]string{"LOG_LEVEL", "SHARD", "WEB_CONFIG_FILE"}, invalid); diff != "" {
		t.Errorf("invalid: -want +got\n%s", diff)
	}
}
