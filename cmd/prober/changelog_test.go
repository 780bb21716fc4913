package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestChangelogIsInForm holds that headings and entries have the form of Prometheus' projects: the workflow of a release cuts its
// notes out by them.
func TestChangelogIsInForm(t *testing.T) {
	form := regexp.MustCompile(`^(## Unreleased|## \d+\.\d+\.\d+(-rc\.\d+)? / \d{4}-[01]\d-[0-3]\d|` +
		`- \[(CHANGE|FEATURE|ENHANCEMENT|SECURITY|BUGFIX)\] \S.*)\n$`)
	found := 0
	for line := range strings.Lines(read(t, "CHANGELOG.md")) {
		if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "##") {
			if found++; !form.MatchString(line) {
				t.Errorf("want ## Unreleased, ## 0.1.0 / 2027-01-31 or - [KIND] and what changed: %s", line)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d headings and entries: the test does not see them", found)
	}
}
