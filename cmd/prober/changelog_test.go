package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// kinds of changes, in the order in which a release lists them.
var kinds = []string{"CHANGE", "FEATURE", "ENHANCEMENT", "SECURITY", "BUGFIX"}

// misprints says what in a changelog is not in the form of Prometheus' projects.
func misprints(text string) (found []string) {
	heading := regexp.MustCompile(`^## (?:Unreleased|(\d+\.\d+\.\d+(?:-rc\.\d+)?) / (\d{4}-\d\d-\d\d))$`)
	entry := regexp.MustCompile(`^- \[([A-Z]+)\] \S.*$`)
	last, lastDay, releases, entries := 0, "9999", 0, 1
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		wrong := func(format string, args ...any) {
			found = append(found, fmt.Sprintf("line %d: ", n+1)+fmt.Sprintf(format, args...))
		}
		if strings.HasPrefix(line, "#") && n > 0 {
			match := heading.FindStringSubmatch(line)
			switch {
			case match == nil:
				wrong("want ## 0.1.0 / 2027-01-31 or ## Unreleased")
				continue
			case match[1] == "" && releases > 0:
				wrong("what is not released comes first")
			case match[1] != "":
				if _, err := time.Parse(time.DateOnly, match[2]); err != nil || match[2] > lastDay {
					wrong("%s is no day, or is later than the release above", match[2])
				}
				lastDay = match[2]
			}
			if entries == 0 {
				wrong("the release above has no changes")
			}
			releases, last, entries = releases+1, 0, 0
		}
		if !strings.HasPrefix(line, "-") {
			continue
		}
		match := entry.FindStringSubmatch(line)
		if match == nil || !slices.Contains(kinds, match[1]) {
			wrong("want - [KIND] and what changed, with one of %v", kinds)
			continue
		}
		kind := slices.Index(kinds, match[1])
		if kind < last {
			wrong("[%s] comes before [%s]", match[1], kinds[last])
		}
		last, entries = kind, entries+1
	}
	if releases == 0 {
		found = append(found, "no release")
	}
	return found
}

func TestChangelogIsInForm(t *testing.T) {
	for _, wrong := range misprints(read(t, "CHANGELOG.md")) {
		t.Error(wrong)
	}
}
