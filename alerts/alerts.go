// Package alerts holds the rules for Prometheus and a runbook for each alert. It is data: it imports nothing of ours.
package alerts

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed rules.yaml rules-classic.yaml inhibit.yaml runbooks/*.md
var files embed.FS

// Names of the files below a directory that somebody chose.
const (
	RulesFile   = "rules.yaml"
	InhibitFile = "inhibit.yaml"
	RunbooksDir = "runbooks"
)

// classicFile is generated from RulesFile.
const classicFile = "rules-classic.yaml"

// Rules returns the rule file of Prometheus, as it is committed, comments and all. The caller owns it.
func Rules() []byte { return mustRead(RulesFile) }

// ClassicRules returns the rules without native histograms, for back ends that do not know their functions. The alert
// about missing native histograms is left out. The caller owns them.
func ClassicRules() []byte { return mustRead(classicFile) }

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

// Runbook is the page of an alert, in Markdown. ok is false if there is no such alert. The caller owns it.
func Runbook(alert string) (page []byte, ok bool) {
	page, err := files.ReadFile(RunbookFile(alert))
	return page, err == nil
}

// RunbookFile is the name of the file that has the page of an alert, with slashes.
func RunbookFile(alert string) string { return RunbooksDir + "/" + alert + ".md" }

// InhibitRules returns the inhibit rules for the configuration of an Alertmanager. The caller owns them.
func InhibitRules() []byte { return mustRead(InhibitFile) }

// Write writes rules to a file in dir and all runbooks below it, over what is there. It creates dir if missing.
func Write(dir, file string, rules []byte) error {
	if err := os.MkdirAll(filepath.Join(dir, RunbooksDir), 0o755); err != nil { //nolint:gosec // for a Prometheus that is another user
		return fmt.Errorf("write alerts: %w", err)
	}
	written := map[string][]byte{file: rules}
	for _, name := range Runbooks() {
		written[RunbookFile(name)], _ = Runbook(name)
	}
	for name, data := range written {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), data, 0o644); err != nil { //nolint:gosec // for a Prometheus that is another user
			return fmt.Errorf("write alerts: %w", err)
		}
	}
	return nil
}

// mustRead reads a file that is embedded, and so is there.
func mustRead(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return data
}
