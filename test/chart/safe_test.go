package chart_test

import (
	"reflect"
	"regexp"
	"slices"
	"testing"
)

// podsAreRestricted holds every pod against the Pod Security Standard
// "restricted", and against what we promise beyond it.
func podsAreRestricted(t *testing.T, all []object) {
	t.Helper()
	for _, o := range all {
		spec, ok := pod(o)
		if !ok {
			continue
		}
		place, _ := o["kind"].(string)
		if spec["automountServiceAccountToken"] != false || spec["enableServiceLinks"] != false {
			t.Errorf("%s: token %v, service links %v", place, spec["automountServiceAccountToken"], spec["enableServiceLinks"])
		}
		for _, forbidden := range []string{"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"} {
			if spec[forbidden] != nil {
				t.Errorf("%s: has %s", place, forbidden)
			}
		}
		volumes(t, place, spec)
		for _, c := range slices.Concat(mappings(spec, "initContainers"), mappings(spec, "containers")) {
			restricted(t, place, spec, c)
			if at(c, "resources", "limits", "cpu") != nil || at(c, "resources", "requests", "cpu") == nil || at(c, "resources", "requests", "memory") == nil {
				t.Errorf("%s: %s has the resources %v", place, c["name"], c["resources"])
			}
		}
	}
}

// volumes holds that volumes are of the kinds that are allowed, and that no mount
// has a subPath: it would never change.
func volumes(t *testing.T, place string, spec map[string]any) {
	t.Helper()
	for _, volume := range mappings(spec, "volumes") {
		for kind := range volume {
			if !slices.Contains([]string{"name", "configMap", "secret", "projected"}, kind) {
				t.Errorf("%s: a volume of the kind %s", place, kind)
			}
		}
	}
	for _, c := range mappings(spec, "containers") {
		for _, mount := range mappings(c, "volumeMounts") {
			if mount["subPath"] != nil || mount["readOnly"] != true {
				t.Errorf("%s: the mount %v", place, mount)
			}
		}
	}
}

// restricted holds a container against the standard.
func restricted(t *testing.T, place string, spec, container map[string]any) {
	t.Helper()
	for _, want := range []struct {
		keys  []string
		value any
	}{
		{[]string{"runAsNonRoot"}, true},
		{[]string{"readOnlyRootFilesystem"}, true},
		{[]string{"allowPrivilegeEscalation"}, false},
		{[]string{"capabilities", "drop"}, []any{"ALL"}},
		{[]string{"capabilities", "add"}, nil},
		{[]string{"privileged"}, nil},
		{[]string{"seccompProfile", "type"}, "RuntimeDefault"},
	} {
		if got := at(container, append([]string{"securityContext"}, want.keys...)...); !reflect.DeepEqual(got, want.value) {
			t.Errorf("%s: %v of %s is %v, want %v", place, want.keys, container["name"], got, want.value)
		}
	}
	if user := at(spec, "securityContext", "runAsUser"); user != nil && user != 65532 {
		t.Errorf("%s: runs as %v", place, user)
	}
}

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
