// Package exposition reads pages of metrics in Prometheus' text format. Only tests import it.
package exposition

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Serve returns the page that a handler serves under a path.
func Serve(handler http.Handler, path string) string {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, nil))
	return w.Body.String()
}

// Value returns the value of the first series on a page that has the name and the labels of a selector, which is
// written as in PromQL. ok is false if there is none.
func Value(page, selector string) (value float64, ok bool) {
	name, labels, _ := strings.Cut(strings.TrimSuffix(selector, "}"), "{")
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		space := strings.LastIndex(line, " ")
		if space < 0 {
			continue
		}
		series, text := line[:space], line[space+1:]
		if series != name && !strings.HasPrefix(series, name+"{") {
			continue
		}
		isMissing := func(label string) bool { return !strings.Contains(series, label) }
		if slices.ContainsFunc(strings.Split(labels, ","), isMissing) {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		return value, err == nil
	}
	return 0, false
}

var slotSeries = regexp.MustCompile(
	`(?m)^llm_probe_(?:probes|skipped)_total\{.*(?:outcome|reason)="(\w+)".*target="([^"]*)"\} (\d+)$`)

// Slots returns what became of the slots of each target that has series: the outcomes, and then the reasons why slots
// were skipped, if they are not 0: "ok=60 overlap=1".
func Slots(page string) map[string]string {
	slots := map[string]string{}
	for _, found := range slotSeries.FindAllStringSubmatch(page, -1) {
		reason, target, n := found[1], found[2], found[3]
		text := ""
		if n != "0" {
			text = " " + reason + "=" + n
		}
		slots[target] += text
	}
	for target, text := range slots {
		slots[target] = strings.TrimSpace(text)
	}
	return slots
}

var intervalSeries = regexp.MustCompile(`(?m)^llm_probe_interval_seconds\{.*target="([^"]*)"`)

// Targets returns the names of the targets that are due, sorted.
func Targets(page string) []string {
	var names []string
	for _, found := range intervalSeries.FindAllStringSubmatch(page, -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return names
}
