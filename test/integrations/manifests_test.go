package integrations_test

import (
	"fmt"
	"regexp"
	"testing"
)

// TestManifestsAreWhole holds that each object says what it is and where it goes.
func TestManifestsAreWhole(t *testing.T) {
	t.Parallel()
	for _, s := range snippets(t, manifest) {
		o := decode(t, s)
		for _, keys := range [][]string{{"kind"}, {"metadata", "name"}, {"metadata", "namespace"}, {"spec"}} {
			if at(o, keys...) == nil {
				t.Errorf("%s: no %v in\n%s", s.page, keys, s.text)
			}
		}
	}
}

// TestReplicasAreBehindAHeadlessService holds that each dns+ URL of our values
// leads to a Service of the same page, and that this one has no address of its
// own: else all replicas are one.
func TestReplicasAreBehindAHeadlessService(t *testing.T) {
	t.Parallel()
	headless := map[string]bool{}
	for _, s := range snippets(t, manifest) {
		o := decode(t, s)
		if at(o, "kind") != "Service" || at(o, "spec", "clusterIP") != "None" {
			continue
		}
		for _, port := range list(o, "spec", "ports") {
			headless[fmt.Sprintf("%s: dns+http://%v.%v.svc:%v", s.page, at(o, "metadata", "name"), at(o, "metadata", "namespace"), at(port, "port"))] = true
		}
	}
	seen := 0
	for _, s := range snippets(t, ourValues) {
		for _, url := range regexp.MustCompile(`dns\+http://\S+`).FindAllString(s.text, -1) {
			seen++
			if !headless[s.page+": "+url] {
				t.Errorf("%s: nothing on the page is headless and at %s", s.page, url)
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d dns+ URLs found in the values: the test does not see them", seen)
	}
}
