// Package alerts holds the rules for Prometheus and a runbook for each alert. It is data: it imports nothing of ours.
package alerts

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed rules.yaml inhibit.yaml runbooks/*.md
var files embed.FS

// Names of the files below a directory that somebody chose.
const (
	RulesFile   = "rules.yaml"
	InhibitFile = "inhibit.yaml"
	RunbooksDir = "runbooks"
)

// Rules is the rule file of Prometheus, as it is committed, comments and all. The caller owns it.
func Rules() []byte { return mustRead(RulesFile) }

// nativeHalf is the first half of an expression, and the "or" before the classic one.
var nativeHalf = regexp.MustCompile(`histogram_\w+\((?:[0-9.]+, )?sum by \([a-z, ]+\) \(\w+\(\w+\[\w+\]\)\)\)( > 2\^-13)?\n\s+or `)

// ClassicRules are the rules without native histograms, for back ends that do not know their functions. An alert that is
// about native histograms is left out. The caller owns them.
func ClassicRules() []byte {
	rules := Rules()
	rules = nativeHalf.ReplaceAll(rules[bytes.Index(rules, []byte("groups:\n")):], nil)
	rules = append([]byte("# Rules for prober by classic buckets. Minimum: Prometheus 2.42, or VictoriaMetrics. docs/slo.md explains them.\n"), rules...)
	from := bytes.Index(rules, []byte("  - alert: ProberClassicOnly\n"))
	to := from + 1 + bytes.Index(rules[from+1:], []byte("  - alert: "))
	return slices.Concat(rules[:from], rules[to:])
}

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

// Formats are those of the rules: a rule file of Prometheus, a resource of its operator, and an Alertmanager's inhibit rules.
func Formats() []string { return []string{"prometheus", "prometheusrule", "alertmanager"} }

// RulesAs is the rules in one of [Formats], and the name of the file for them. Classic ones are [ClassicRules]. The caller owns them.
func RulesAs(format string, classic bool) (rules []byte, file string, err error) {
	rules = Rules()
	if classic {
		rules = ClassicRules()
	}
	switch format {
	case "prometheusrule":
		rules, err = PrometheusRule(rules)
		return rules, "prometheusrule.yaml", err
	case "alertmanager":
		return mustRead(InhibitFile), InhibitFile, nil
	}
	return rules, RulesFile, nil
}

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
