package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/usage"
)

// Labels are the labels that the configuration gives a target, by their names. They are on all its series.
type Labels map[string]string

const (
	maxLabelNames = 10  // of all targets together: each is on every series
	maxLabelValue = 200 // bytes
)

// labelName matches the names that a label can have without quotes, see
// https://prometheus.io/docs/concepts/data_model/#metric-names-and-labels
var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// isReservedLabel reports whether a name is that of a label of the prober's own metrics and rules, or one that
// Prometheus and Alertmanager set themselves.
func isReservedLabel(name string) bool {
	own := []string{
		"target", "model", "prompt", "vantage", "group", "api", "url", "server", "server_version", "timestamps", // of targets
		"workload", "external_url", "refusals",
		"outcome", "status", "kind", "state", "reason", "objective", "verdict", "phase", "depth", // of single metrics
		"version", "revision", "goversion", // of the program
		"signal", "basis", "histogram", // of rules
		"job", "instance", "le", "quantile", "severity", "alertname",
	}
	for _, ability := range (server.Knowledge{}).Abilities() {
		own = append(own, ability.Name)
	}
	isOfPrometheus := strings.HasPrefix(name, "__") || strings.HasPrefix(name, "exported_")
	return isOfPrometheus || slices.Contains(own, name)
}

// String returns the labels as a variable has them, sorted by name. No variable can have a value with a comma.
func (l Labels) String() string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		pairs = append(pairs, name+"="+l[name])
	}
	return strings.Join(pairs, ",")
}

// yaml returns the labels as a mapping on one line.
func (l Labels) yaml() string {
	text, _ := json.Marshal(map[string]string(l)) // of texts; YAML can read it
	return string(text)
}

// add adds a label, or says what is wrong with it.
func (l Labels) add(name, value string) error {
	_, isThere := l[name]
	switch {
	case !labelName.MatchString(name):
		return usage.Problem{
			Text: fmt.Sprintf("%s cannot be the name of a label", quote(name)),
			Hint: "want letters, digits and _, and no digit at its start",
		}
	case isReservedLabel(name):
		wrong := usage.Problem{
			Text: fmt.Sprintf("%s is a label that the metrics or Prometheus have already", quote(name)),
			Hint: "choose another name",
		}
		if name == "vantage" {
			wrong.Hint = "set PROBER_VANTAGE, or vantage at the top of the targets file, to say where the prober stands"
		}
		return wrong
	case isThere:
		return usage.Problem{Text: fmt.Sprintf("has the label %s twice", quote(name)), Hint: "keep one of them"}
	case !utf8.ValidString(value), strings.ContainsFunc(value, unicode.IsControl):
		return usage.Problem{Text: fmt.Sprintf("the value of %s has unprintable characters", quote(name))}
	case len(value) > maxLabelValue:
		return usage.Problem{
			Text: fmt.Sprintf("the value of %s has %d bytes", quote(name), len(value)),
			Hint: fmt.Sprintf("want at most %d", maxLabelValue),
		}
	}
	l[name] = value
	return nil
}

// addLabels sets the labels of a struct to the labels of all sources together. If two sources have the same label, the
// one that counts more wins. A source with a wrong label adds none.
func (e *entry) addLabels(k Key) {
	var all Labels // nil without any, as in a target that nobody gave one
	written := e.values[k.name]
	for v := &written; v != nil && v.text != ""; v = v.below {
		labels := Labels{}
		err := eachPair(v.text, func(_ int, name, value string) error { return labels.add(name, value) })
		if err != nil {
			wrong, _ := errors.AsType[usage.Problem](err)
			e.problems.Add(k.problemPlace(*v), wrong.Text, cmp.Or(wrong.Hint, k.hint()))
			e.wrong[k.name] = true
			continue
		}
		maps.Copy(labels, all)
		all = labels
	}
	*k.pointer(e.settings).(*Labels) = all
}

// collectLabelNames collects the names of all labels. A target with which they become too many is wrong.
func (l *loader) collectLabelNames() {
	named := map[string]bool{}
	for _, t := range l.targets {
		all := maps.Clone(named)
		for name := range t.settings.Labels {
			all[name] = true
		}
		names := slices.Sorted(maps.Keys(all))
		if len(names) > maxLabelNames {
			t.entry.problems.Add(t.entry.values[t.entry.key(&t.settings.Labels).name].place.String(),
				fmt.Sprintf("the targets have labels of %d names by now: %s", len(names), format.List(names)),
				fmt.Sprintf("want at most %d names: all of them are on every series", maxLabelNames))
			continue
		}
		named = all
	}
	l.config.LabelNames = slices.Sorted(maps.Keys(named))
}

// warnOfScrapedLabels warns once of labels that a scrape may set itself. Prometheus then renames those of the targets,
// so that a rule by namespace tells probers apart, and no targets. With other ways of scraping they do no harm.
//
// ServiceMonitors and PodMonitors set namespace, pod, service, container and endpoint, and Google's managed Prometheus
// cluster, location and namespace. See also honor_labels:
// https://prometheus.io/docs/prometheus/latest/configuration/configuration/#scrape_config
func (l *loader) warnOfScrapedLabels() {
	setByScrape := []string{"cluster", "container", "endpoint", "location", "namespace", "pod", "service"}
	var names, renamed []string
	for _, name := range l.config.LabelNames {
		if slices.Contains(setByScrape, name) {
			names = append(names, name)
			renamed = append(renamed, "exported_"+name)
		}
	}
	if len(names) > 0 && !l.options.Finite {
		l.warn("labels "+format.List(names), fmt.Sprintf("a ServiceMonitor, a PodMonitor or Google's managed Prometheus "+
			"sets such labels itself: there, those of targets become %s, and --by %s means the prober's own; "+
			"choose other names, unless you scrape in another way", format.List(renamed), names[0]))
	}
}
