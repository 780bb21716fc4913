package alerts

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Options are what an organisation decides about the rules. Their zero value is what this repository ships.
type Options struct {
	Histograms Histograms        // the kinds that the rules read
	labels     map[string]string // of all alerts
	runbookURL string            // of the folder of the runbooks, without a slash at the end; empty: in the repository
	grafanaURL string            // without a slash at the end; empty: links are paths
	by         []string          // the labels that tell targets apart, besides those of the rules
}

// Histograms are the kinds of histograms that rules read.
type Histograms int

// The rules read native histograms, or classic buckets where there are none; or one of both alone. Servers that do not
// know native histograms refuse rules that read them.
const (
	NativeAndClassic Histograms = iota
	NativeOnly
	ClassicOnly
)

// usedLabels have a meaning in the rules, so none of them can be added. The chart refuses the same ones.
var usedLabels = []string{
	"alertname", "alertstate", "basis", "day", "depth", "external_url", "flaw", "group", "histogram", "instance", "job",
	"kind", "le", "model", "objective", "outcome", "prompt", "quantile", "reason", "refusals", "severity", "sign",
	"signal", "state", "status", "target", "url", "vantage", "verdict", "workload",
}

// UsedLabels returns the labels that have a meaning in the rules, sorted. None of them can be added. The caller owns
// the list.
func UsedLabels() []string { return slices.Clone(usedLabels) }

// labelName matches names that every version of Prometheus accepts in a rule. Names with two underscores in front are
// its own.
var labelName = regexp.MustCompile(`^(_?[a-zA-Z][a-zA-Z0-9_]*|_)$`)

// AddLabel adds a label to all alerts, given as name=value. The value may be a template, as in a rule file.
func (o *Options) AddLabel(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || value == "" {
		return errors.New("no value; want name=value, for example team=search")
	}
	if _, twice := o.labels[name]; twice {
		return fmt.Errorf("the label %s is given twice", name)
	}
	if slices.Contains(o.by, name) {
		return fmt.Errorf("--by takes the label %s from the series; leave one of the two out", name)
	}
	if err := checkName(name); err != nil {
		return err
	}
	if o.labels == nil {
		o.labels = map[string]string{}
	}
	o.labels[name] = value
	return nil
}

// AddBy adds a label by which the rules tell targets apart. Alerts have it with the value of their series.
func (o *Options) AddBy(name string) error {
	if slices.Contains(o.by, name) {
		return errors.New("this label is given twice")
	}
	if _, fixed := o.labels[name]; fixed {
		return errors.New("--label gives this label one value for all alerts; leave one of the two out")
	}
	if err := checkName(name); err != nil {
		return err
	}
	o.by = append(o.by, name)
	return nil
}

// SetRunbookURL sets the address of the folder in which runbooks are NAME.md.
func (o *Options) SetRunbookURL(text string) (err error) {
	o.runbookURL, err = parseBase(text)
	return err
}

// SetGrafanaURL sets the address of the Grafana that has the dashboards.
func (o *Options) SetGrafanaURL(text string) (err error) {
	o.grafanaURL, err = parseBase(text)
	return err
}

// parseBase returns an address, to which a path can be added, without the slash at its end.
func parseBase(text string) (string, error) {
	u, err := url.Parse(text)
	isBase := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
	if !isBase {
		return "", errors.New("not a base URL; want one such as https://grafana.example.com/path")
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// checkName returns an error if a label cannot have this name, or if the rules use the name themselves.
func checkName(name string) error {
	if !labelName.MatchString(name) {
		return errors.New("not a label; want a name of letters, digits and underscores, for example team")
	}
	if slices.Contains(usedLabels, name) {
		return fmt.Errorf("the rules use the label %s themselves; choose another name", name)
	}
	return nil
}
