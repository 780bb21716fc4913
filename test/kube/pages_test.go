package kube_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestPagesAreAdmitted: manifests in the documentation are pasted as they are.
func TestPagesAreAdmitted(t *testing.T) {
	c := running(t)
	found := 0
	for _, page := range slices.Concat(inputs(t, "../../docs/*.md"), inputs(t, "../../docs/integrations/*.md")) {
		for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(read(t, page), -1) {
			if len(documents(t, block[1])) == 0 {
				continue
			}
			found++
			t.Run(filepath.Base(page), func(t *testing.T) {
				admitted(t, c, block[1], anything)
			})
		}
	}
	if found < 7 {
		t.Errorf("%d manifests found: the test does not see them", found)
	}
}
