package alerts

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"
)

// templateFiles are the template of the rules. The head of template/rules.yaml explains what a rule is written in.
//
//go:embed template/*.yaml
var templateFiles embed.FS

// repositoryRunbooks is the folder of the runbooks, unless an organisation has its own.
const repositoryRunbooks = "https://github.com/llm-prober/prober/blob/main/alerts/" + RunbooksDir

// Rules returns the rule file for Prometheus. The caller owns it.
func (o Options) Rules() []byte { return o.render("rules.yaml") }

// InhibitRules returns the inhibit rules for the configuration of Alertmanager. The caller owns them.
func (o Options) InhibitRules() []byte { return o.render("inhibit.yaml") }

// render executes one of the templates.
func (o Options) render(name string) []byte {
	functions := template.FuncMap{
		"classicOnly":      func() bool { return o.Histograms == ClassicOnly },
		"nativeAndClassic": func() bool { return o.Histograms == NativeAndClassic },
		"labels":           o.labelsAndBy,
		"series":           o.series,
		"median":           o.median,
		"quantile":         o.quantile,
		"count":            o.count,
		"average":          o.average,
		"until":            o.until,
		"query":            o.query,
		"worst":            o.worst,
		"signals":          func() []string { return []string{"itl", "tpot", "ttft"} },
		"alertLabels":      o.alertLabels,
		"runbook":          o.runbook,
		"dashboard":        o.dashboard,
		"equal":            func(names string) string { return "[" + strings.Join(o.labelsAndBy(names), ", ") + "]" },
	}
	files := template.New("").Delims("[[", "]]").Funcs(functions)
	files = template.Must(files.ParseFS(templateFiles, "template/*.yaml"))
	var text bytes.Buffer
	err := files.ExecuteTemplate(&text, name, nil)
	if err != nil {
		panic(err) // the template has no other input than o, which has been checked
	}
	return text.Bytes()
}

// A labelList is a list of labels of PromQL.
type labelList []string

func (l labelList) String() string { return "(" + strings.Join(l, ", ") + ")" }

// without returns the list without one of its labels.
func (l labelList) without(label string) labelList {
	return slices.DeleteFunc(slices.Clone(l), func(name string) bool { return name == label })
}

// labelsAndBy returns the labels by which an organisation tells targets apart, and more, separated by commas.
func (o Options) labelsAndBy(more string) labelList {
	return slices.Concat(o.by, strings.Split(more, ", "))
}

// series returns the labels that an alert about a target has, and more.
func (o Options) series(more ...string) labelList {
	return slices.Concat(o.by, []string{"target", "prompt", "vantage"}, more)
}

// median returns the median of a histogram of seconds over a window, by labels. There is none if it lies in the lowest
// bucket: this one ends at 2^-13 s, and the lowest classic one at 0.0005 s.
func (o Options) median(histogram, window string, by labelList) string {
	native, classic := quantileOf(0.5, histogram, window, by.without("histogram"))
	return o.either(native+" > 2^-13", classic+" > 0.0005", by)
}

// quantile returns a quantile of a histogram of seconds over a window, by labels.
func (o Options) quantile(q float64, histogram, window string, by labelList) string {
	native, classic := quantileOf(q, histogram, window, by.without("histogram"))
	// An empty histogram has NaN.
	return o.either(native+" >= 0", classic+" >= 0", by)
}

func quantileOf(q float64, histogram, window string, by labelList) (native, classic string) {
	native = fmt.Sprintf("histogram_quantile(%v, sum by %s (rate(%s[%s])))", q, by, histogram, window)
	classic = fmt.Sprintf("histogram_quantile(%v, sum by %s (rate(%s_bucket[%s])))",
		q, append(by, "le"), histogram, window)
	return native, classic
}

// count returns how many values a histogram got in a window, by labels.
func (o Options) count(histogram, window string, by labelList) string {
	list := by.without("histogram")
	return o.either(
		fmt.Sprintf("histogram_count(sum by %s (increase(%s[%s])))", list, histogram, window),
		fmt.Sprintf("sum by %s (increase(%s_count[%s]))", list, histogram, window),
		by,
	)
}

// average returns the mean of a histogram's values in a window, by labels.
func (o Options) average(histogram, window string, by labelList) string {
	list := by.without("histogram")
	return o.either(
		fmt.Sprintf("histogram_avg(sum by %s (rate(%s[%s])))", list, histogram, window),
		fmt.Sprintf("sum by %[1]s (rate(%[2]s_sum[%[3]s])) / sum by %[1]s (rate(%[2]s_count[%[3]s]))",
			list, histogram, window),
		by,
	)
}

// until returns a condition that ends an alert about a target in time: a while after its last event, or three intervals
// after it if these are longer, less the time for which the alert is kept. The record is the time when there last was
// an event in the five minutes before. A target without an interval is disabled or gone, and does not fulfil it.
func (o Options) until(after, kept, record string) (string, error) {
	shortest, err := time.ParseDuration(after)
	if err != nil {
		return "", err
	}
	before, err := time.ParseDuration(kept)
	if err != nil {
		return "", err
	}
	before += 5 * time.Minute // the record is up to five minutes later than the event
	return fmt.Sprintf("(\n          time() - max_over_time(%s[1d]) <= on %s group_left ()\n"+
		"          clamp_min(3 * max by %[2]s (last_over_time(llm_probe_interval_seconds[5m])), %[3]v) - %[4]v)",
		record, o.series(), shortest.Seconds(), before.Seconds()), nil
}

// either returns the native expression, the classic one, or the native one where there is one, in parentheses. If by
// has the label histogram, the result has it: "native" or "classic".
func (o Options) either(native, classic string, by labelList) string {
	or := "or"
	if slices.Contains(by, "histogram") {
		or = "or on " + by.without("histogram").String()
		native = `label_replace(` + native + `, "histogram", "native", "", "")`
		classic = `label_replace(` + classic + `, "histogram", "classic", "", "")`
	}
	switch o.Histograms {
	case NativeOnly:
		return "(" + native + ")"
	case ClassicOnly:
		return "(" + classic + ")"
	default:
		// The second line of an expression of rules may be indented by any number of blanks above six.
		return "(" + native + "\n        " + or + " " + classic + ")"
	}
}

// alertLabels returns the labels of an alert, given as YAML such as "severity: critical", with those of all alerts.
func (o Options) alertLabels(own string) string {
	all := []string{own}
	for _, name := range slices.Sorted(maps.Keys(o.labels)) {
		var value bytes.Buffer
		encoder := json.NewEncoder(&value)
		encoder.SetEscapeHTML(false)
		err := encoder.Encode(o.labels[name])
		if err != nil {
			panic(err) // a string has a form in JSON, which YAML includes
		}
		all = append(all, name+": "+strings.TrimSpace(value.String()))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// runbook returns the address of an alert's runbook.
func (o Options) runbook(alert string) string {
	folder := repositoryRunbooks
	if o.runbookURL != "" {
		folder = o.runbookURL
	}
	return folder + "/" + alert + ".md"
}

// dashboard returns a link to a board for an alert that these labels identify: from an hour before it began, with the
// window of its rule. Labels of which the board has a variable choose what it shows. One that the alert lacks is left
// out, because an empty choice is not all.
func (o Options) dashboard(board, alert, window string, labels ...string) string {
	own := `alertname="` + alert + `",$(` + strings.Join(labels, ", ") + ")"
	begin := o.query("1000 * (min(ALERTS_FOR_STATE{" + own + "}) - 3600) or vector(1000 * (time() - 3600))")
	from := "{{ with " + begin + ` }}{{ . | first | value | printf "%.0f" }}{{ end }}`
	link := o.grafanaURL + "/d/prober-" + board + "?from=" + from + "&to=now&var-window=" + window
	var variables strings.Builder
	for _, name := range labels {
		ofProber := name == "job" || name == "instance"
		if ofProber == (board == "instrument") {
			fmt.Fprintf(&variables, "{{ with $labels.%[1]s }}&var-%[1]s={{ . | urlquery }}{{ end }}", name)
		}
	}
	return link + variables.String()
}

// labelsInQuery matches what stands in a query of an annotation for labels of the alert, or of a row of its range.
var labelsInQuery = regexp.MustCompile(`\$series|\$\(([\w, ]+)\)|\$row\.(\w+)`)

// query returns a query in an annotation, for a template of Prometheus. The text names labels of the alert as the head
// of the template says.
func (o Options) query(text string) string {
	var arguments strings.Builder
	format := labelsInQuery.ReplaceAllStringFunc(text, func(found string) string {
		names := o.series()
		parts := labelsInQuery.FindStringSubmatch(found)
		switch {
		case parts[2] != "":
			arguments.WriteString(" .Labels." + parts[2])
			return "%q"
		case parts[1] != "":
			names = o.labelsAndBy(parts[1])
		}
		matchers := make([]string, len(names))
		for i, name := range names {
			matchers[i] = name + "=%q"
			arguments.WriteString(" $labels." + name)
		}
		return strings.Join(matchers, ",")
	})
	return "printf `" + format + "`" + arguments.String() + " | query"
}

// worst returns the beginning of a range over the row of the worst signal of an alert, for a template of Prometheus.
// The query has a row for each signal; digits is the format of the alert's value, to which the row must be equal.
func (o Options) worst(digits, query string) string {
	return fmt.Sprintf(`{{ $named := "" }}{{ range %s | sortByLabel "signal" }}`+
		`{{ if and (eq $named "") (eq (printf %[2]q .Value) (printf %[2]q $value)) }}{{ $named = .Labels.signal }}`,
		o.query(query), digits)
}
