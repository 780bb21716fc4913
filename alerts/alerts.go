// Package alerts holds the recording and alerting rules for Prometheus, and a
// runbook for each alert. It is data: it imports nothing of ours.
package alerts

import (
	"embed"
	"strings"
)

//go:embed rules.yaml runbooks/*.md
var files embed.FS

// Names of the files below a directory that somebody chose.
const (
	RulesFile   = "rules.yaml"
	RunbooksDir = "runbooks"
)

// Rules is the rule file of Prometheus, as it is committed, comments and all.
// The caller owns it.
func Rules() []byte { return mustRead(RulesFile) }

// Runbooks are the names of the alerts that have a runbook, sorted: all of them.
func Runbooks() []string {
	entries, err := files.ReadDir(RunbooksDir)
	if err != nil {
		panic(err) // the directory is embedded: it is there
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".md"))
	}
	return names
}

// Runbook is the page of an alert, in Markdown. ok is false if there is no such
// alert. The caller owns it.
func Runbook(alert string) (page []byte, ok bool) {
	page, err := files.ReadFile(RunbookFile(alert))
	return page, err == nil
}

// RunbookFile is the name of the file that has the page of an alert, with slashes.
func RunbookFile(alert string) string { return RunbooksDir + "/" + alert + ".md" }

// mustRead reads a file that is embedded, and so is there.
func mustRead(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return data
}
