package alerts

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/llm-prober/prober/internal/golden"
)

const classicHeader = `# Generated from rules.yaml by "make generate"; do not edit.
#
# Rules for prober by classic buckets. Minimum: Prometheus 2.42, or VictoriaMetrics.
# Retention: the baselines of latencies need 8 days, the budgets 30 (--storage.tsdb.retention.time=35d).
# They are those of rules.yaml without native histograms. docs/alerts.md and docs/regression.md explain them.
`

// nativeHalf matches the native half of an expression, such as histogram_avg(sum by (job) (rate(x[1h]))), and the "or"
// before the classic half.
var nativeHalf = regexp.MustCompile(
	`histogram_\w+\((?:[0-9.]+, )?sum by \([a-z, ]+\) \(\w+\(\w+\[\w+\]\)\)\)( > 2\^-13)?\n\s+or `)

// classicOf returns rules without native histograms, and without the alert about missing native histograms.
func classicOf(rules []byte) []byte {
	_, groups, _ := bytes.Cut(rules, []byte("groups:\n"))
	groups = nativeHalf.ReplaceAll(groups, nil)
	before, alert, _ := bytes.Cut(groups, []byte("  - alert: ProberClassicOnly\n"))
	_, after, _ := bytes.Cut(alert, []byte("  - alert: "))
	return []byte(classicHeader + "groups:\n" + string(before) + "  - alert: " + string(after))
}

// TestClassicRules holds that the classic rules are made of the rules as they are now, and have nothing native.
func TestClassicRules(t *testing.T) {
	golden.Equal(t, classicFile, string(classicOf(Rules())))
	native := regexp.MustCompile(`histogram_[^q]\w*|ProberClassicOnly`).FindAll(ClassicRules(), -1)
	if native != nil {
		t.Errorf("%s has %q, which older back ends do not know", classicFile, native)
	}
}
