package config

import "testing"

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
