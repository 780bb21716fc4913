// Package alerts holds rules for Prometheus, inhibit rules for Alertmanager, and a runbook for each alert. All of it
// is embedded files: rules.yaml is edited by hand, and rules-classic.yaml is generated from it. The package returns
// them and writes them into a directory. It imports no other package of the program.
//
// To change an alert, begin at rules.yaml, then at its file in runbooks and its cases in tests.
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

// The names of the files, below the directory into which they are written.
const (
	RulesFile   = "rules.yaml"
	InhibitFile = "inhibit.yaml"
	RunbooksDir = "runbooks"
)

// classicFile is the name of the rules that are generated from RulesFile.
const classicFile = "rules-classic.yaml"

// Rules returns the rule file for Prometheus, with its comments. The caller owns it.
func Rules() []byte { return mustRead(RulesFile) }

// ClassicRules returns the rules without native histograms, for servers that do not know their functions. They lack the
// alert about missing native histograms. The caller owns them.
func ClassicRules() []byte { return mustRead(classicFile) }

// Runbooks returns the names of all alerts, sorted. Each has a runbook.
func Runbooks() []string {
	entries, err := files.ReadDir(RunbooksDir)
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
	page, err := files.ReadFile(RunbookFile(alert))
	return page, err == nil
}

// RunbookFile returns the name of the file with the runbook of an alert, with slashes.
func RunbookFile(alert string) string { return RunbooksDir + "/" + alert + ".md" }

// InhibitRules returns the inhibit rules for the configuration of Alertmanager. The caller owns them.
func InhibitRules() []byte { return mustRead(InhibitFile) }

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

// mustRead reads a file that is embedded.
func mustRead(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return data
}
