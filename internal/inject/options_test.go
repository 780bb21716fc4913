package inject

import "testing"

// TestReleaseImage holds that a release injects its own image, and anything else
// the latest one.
func TestReleaseImage(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "ghcr.io/llm-prober/prober:1.2.3",
		"devel":  "ghcr.io/llm-prober/prober:latest",
		"v0.0.0-20261121220000-0123456789ab+dirty": "ghcr.io/llm-prober/prober:latest",
		"v1.2.3-rc.1": "ghcr.io/llm-prober/prober:latest",
	} {
		if is := ReleaseImage(version); is != want {
			t.Errorf("%s: %s, want %s", version, is, want)
		}
	}
}
