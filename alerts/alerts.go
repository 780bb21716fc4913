// Package alerts holds rules for Prometheus, inhibit rules for Alertmanager, and a runbook for each alert. The rules
// are rendered from a template for an organisation's labels, links and histograms. rules.yaml and inhibit.yaml are what
// it gives without options. The package imports no other package of the program.
//
// To change an alert, begin at template/rules.yaml, which explains how rules are written. Then come its runbook in
// runbooks and its rows in table.
package alerts

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed runbooks/*.md
var runbooks embed.FS

// The names of the files, below the directory into which they are written.
const (
	RulesFile   = "rules.yaml"
	InhibitFile = "inhibit.yaml"
	RunbooksDir = "runbooks"
)

// Runbooks returns the names of all alerts, sorted. Each has a runbook.
func Runbooks() []string {
	entries, err := runbooks.ReadDir(RunbooksDir)
	if err != nil {
		panic(err) // the directory is embedded
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".md"))
	}
	return names
}

// Runbook returns the runbook of an alert, in Markdown. ok is false if there is no such alert. The caller owns it.
func Runbook(alert string) (page []byte, ok bool) {
	page, err := runbooks.ReadFile(RunbookFile(alert))
	return page, err == nil
}

// RunbookFile returns the name of the file with the runbook of an alert, with slashes.
func RunbookFile(alert string) string { return RunbooksDir + "/" + alert + ".md" }

// Write writes rules to a file in dir, and all runbooks below dir. It creates dir if it is missing, and replaces files
// that are there.
func Write(dir, file string, rules []byte) error {
	err := os.MkdirAll(filepath.Join(dir, RunbooksDir), 0o755) //nolint:gosec // Prometheus reads it as another user
	if err != nil {
		return fmt.Errorf("write alerts: %w", err)
	}
	contents := map[string][]byte{file: rules}
	for _, alert := range Runbooks() {
		contents[RunbookFile(alert)], _ = Runbook(alert)
	}
	for name, content := range contents {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.WriteFile(path, content, 0o644) //nolint:gosec // Prometheus reads it as another user
		if err != nil {
			return fmt.Errorf("write alerts: %w", err)
		}
	}
	return nil
}
