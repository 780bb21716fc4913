package alerts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// An Adaptation is what an organisation adds to the rules. Its zero value adds nothing.
//
// It edits text, so that comments and line breaks stay. The Helm chart makes the same edits in a template
// (deploy/helm/prober/templates/prometheusrule.yaml).
type Adaptation struct {
	labels     map[string]string // of all alerts
	runbookURL string            // of the folder of the runbooks, without a slash at the end
	grafanaURL string            // without a slash at the end
	by         []string          // the labels that tell targets apart, besides those of the rules
}

// labelName matches names that every version of Prometheus accepts in a rule. Names with two underscores in front are
// its own.
var labelName = regexp.MustCompile(`^(_?[a-zA-Z][a-zA-Z0-9_]*|_)$`)

// AddLabel adds a label to all alerts, given as name=value. The value may be a template, as in a rule file.
func (a *Adaptation) AddLabel(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || value == "" {
		return errors.New("no value; want name=value, for example team=search")
	}
	if _, twice := a.labels[name]; twice {
		return fmt.Errorf("the label %s is given twice", name)
	}
	if slices.Contains(a.by, name) {
		return fmt.Errorf("--by takes the label %s from the series; leave one of the two out", name)
	}
	if err := checkName(name); err != nil {
		return err
	}
	if a.labels == nil {
		a.labels = map[string]string{}
	}
	a.labels[name] = value
	return nil
}

// AddBy adds a label by which the rules tell targets apart. Alerts have it with the value of their series.
func (a *Adaptation) AddBy(name string) error {
	if slices.Contains(a.by, name) {
		return errors.New("this label is given twice")
	}
	if _, fixed := a.labels[name]; fixed {
		return errors.New("--label gives this label one value for all alerts; leave one of the two out")
	}
	if err := checkName(name); err != nil {
		return err
	}
	a.by = append(a.by, name)
	return nil
}

// SetRunbookURL sets the address of the folder in which runbooks are NAME.md.
func (a *Adaptation) SetRunbookURL(text string) (err error) {
	a.runbookURL, err = parseBase(text)
	return err
}

// SetGrafanaURL sets the address of the Grafana that has the dashboards.
func (a *Adaptation) SetGrafanaURL(text string) (err error) {
	a.grafanaURL, err = parseBase(text)
	return err
}

// parseBase returns an address, to which a path can be added, without the slash at its end.
func parseBase(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery+u.Fragment != "" {
		return "", errors.New("not a base URL; want one such as https://grafana.example.com/path")
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// checkName returns an error if a label cannot have this name, or if the rules use the name themselves.
func checkName(name string) error {
	if !labelName.MatchString(name) {
		return errors.New("not a label; want a name of letters, digits and underscores, for example team")
	}
	if slices.Contains(UsedLabels(), name) {
		return fmt.Errorf("the rules use the label %s themselves; choose another name", name)
	}
	return nil
}

// Where rules name labels: in a list, in a matcher, and as labels of a rule.
var (
	listOfLabels = regexp.MustCompile(`\b(?i:by|on|without|group_left) \(([\w, ]+)\)`)
	matcher      = regexp.MustCompile(`[{,](\w+)(?:=~|!~|!=|=)`)
	ruleLabels   = regexp.MustCompile(`(?m)^    labels: \{(.*)\}$`)
)

// UsedLabels returns the labels that have a meaning in the rules, sorted. None of them can be added. The chart refuses
// the same ones (deploy/helm/prober/files/labels.txt).
func UsedLabels() []string {
	used := map[string]bool{"alertname": true, "alertstate": true, "le": true, "quantile": true, "day": true}
	rules := Rules()
	for _, found := range matcher.FindAllSubmatch(rules, -1) {
		used[string(found[1])] = true
	}
	for _, found := range listOfLabels.FindAllSubmatch(rules, -1) {
		for name := range strings.SplitSeq(string(found[1]), ",") {
			used[strings.TrimSpace(name)] = true
		}
	}
	for _, found := range ruleLabels.FindAllSubmatch(rules, -1) {
		for label := range strings.SplitSeq(string(found[1]), ",") {
			name, _, _ := strings.Cut(label, ":")
			used[strings.TrimSpace(name)] = true
		}
	}
	return slices.Sorted(maps.Keys(used))
}

// What the edits look for. A list that is empty, or whose BY or ON is in capitals, gets no further labels. Annotations
// ask the server by printf with a format in backquotes: its first matcher has the first argument.
var (
	listToExtend    = regexp.MustCompile(`\b(by|on) \(([a-z])`)
	firstMatcher    = regexp.MustCompile("(printf `[^`%]*[{,])(\\w+=%q)")
	firstArgument   = regexp.MustCompile("` (\\$labels\\.)")
	alertLabels     = regexp.MustCompile(`(?m)^(    labels: \{severity: .*)\}$`)
	runbookFolder   = []byte("https://github.com/llm-prober/prober/blob/main/alerts/" + RunbooksDir)
	dashboardFolder = []byte("/d/prober-")
	equalLabels     = regexp.MustCompile(`(?m)^(  equal: \[)`)
)

// Rules returns rules with the additions. rules is what [Rules] or [ClassicRules] returns, and stays as it is.
func (a Adaptation) Rules(rules []byte) []byte {
	if len(a.by) > 0 {
		rules = listToExtend.ReplaceAll(rules, []byte("${1} ("+strings.Join(a.by, ", ")+", ${2}"))
		rules = firstMatcher.ReplaceAll(rules, []byte("${1}"+strings.Join(a.by, "=%q,")+"=%q,${2}"))
		rules = firstArgument.ReplaceAll(rules, []byte("` $$labels."+strings.Join(a.by, " $$labels.")+" ${1}"))
	}
	if a.runbookURL != "" {
		rules = bytes.ReplaceAll(rules, runbookFolder, []byte(a.runbookURL))
	}
	rules = bytes.ReplaceAll(rules, dashboardFolder, append([]byte(a.grafanaURL), dashboardFolder...))
	return alertLabels.ReplaceAll(rules, []byte("${1}"+strings.ReplaceAll(a.flowLabels(), "$", "$$")+"}"))
}

// flowLabels returns the labels as YAML, each with a comma in front.
func (a Adaptation) flowLabels() (text string) {
	for _, name := range slices.Sorted(maps.Keys(a.labels)) {
		var value bytes.Buffer
		encoder := json.NewEncoder(&value)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(a.labels[name]); err != nil {
			panic(err) // a string has a form in JSON, which YAML includes
		}
		text += ", " + name + ": " + strings.TrimSpace(value.String())
	}
	return text
}

// InhibitRules returns the inhibit rules: an alert silences another only if they also agree in the labels of AddBy.
func (a Adaptation) InhibitRules() []byte {
	rules := InhibitRules()
	if len(a.by) > 0 {
		rules = equalLabels.ReplaceAll(rules, []byte("${1}"+strings.Join(a.by, ", ")+", "))
	}
	return rules
}
