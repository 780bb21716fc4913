package chart_test

import (
	"regexp"
	"testing"
)

// secret matches variables that may hold one.
var secret = regexp.MustCompile(`API_KEY$|HEADERS$|TOKEN$|PASSWORD$`)

// noSecretIsWrittenDown holds that the chart makes no Secret, and that nothing
// secret has its value in an object.
func noSecretIsWrittenDown(t *testing.T, text string, all []object) {
	t.Helper()
	if regexp.MustCompile(`(?m)^\s*api_key:`).MatchString(text) {
		t.Error("a key in a targets file")
	}
	for _, o := range all {
		if o["kind"] == "Secret" {
			t.Error("makes a Secret")
		}
		spec, _ := pod(o)
		for _, c := range mappings(spec, "containers") {
			for _, variable := range mappings(c, "env") {
				if name, _ := variable["name"].(string); secret.MatchString(name) && variable["value"] != nil {
					t.Errorf("the value of %s", name)
				}
			}
		}
	}
}
