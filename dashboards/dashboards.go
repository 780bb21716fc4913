// Package dashboards holds Grafana dashboards for what the prober exports. The JSON is
// written by dashboards/generate and never by hand.
package dashboards

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Dashboard is in Grafana's classic model: for import by hand, provisioning and
// the Kubernetes sidecar alike. It asks for its data source.
type Dashboard struct {
	Name  string // a word for the command line, and the name of its file
	UID   string // part of its address in Grafana, the same everywhere
	Title string
	About string // one sentence
	JSON  string
}

//go:embed *.json
var files embed.FS

// All returns the dashboards, the one to begin with first.
func All() []Dashboard {
	all := []Dashboard{
		{Name: "overview", Title: "Prober / Overview", About: "all targets, a row each"},
		{Name: "target", Title: "Prober / Target", About: "one target: objectives, latency distributions, failures, regressions"},
		{Name: "compare", Title: "Prober / Compare", About: "A against B, by location of the prober, week over week, client against server"},
		{Name: "instrument", Title: "Prober / Instrument", About: "health of the prober itself"},
	}
	for i, d := range all {
		text, _ := files.ReadFile(d.Name + ".json") // it is a part of the program
		all[i].UID, all[i].JSON = "prober-"+d.Name, string(text)
	}
	return all
}

// Names are those of all dashboards.
func Names() []string {
	var names []string
	for _, d := range All() {
		names = append(names, d.Name)
	}
	return names
}

// Choose returns the dashboards of some names, or all of them without names, and the names that none has.
func Choose(names []string) (chosen []Dashboard, unknown []string) {
	if len(names) == 0 {
		return All(), nil
	}
	all := All()
	for _, name := range names {
		if i := slices.Index(Names(), name); i >= 0 {
			chosen = append(chosen, all[i])
		} else {
			unknown = append(unknown, name)
		}
	}
	return chosen, unknown
}

// List says which dashboards there are and how they get into Grafana.
func List(dashboards []Dashboard) string {
	var b strings.Builder
	for _, d := range dashboards {
		fmt.Fprintf(&b, "%-12s%-20s%-22s%s\n", d.Name, d.UID, d.Title, d.About)
	}
	b.WriteString(`
Import one:   prober dashboards overview > overview.json
              then in Grafana: Dashboards, New, Import, Upload dashboard JSON file
Provision:    prober dashboards --output DIR, with DIR a path of a file provider
Kubernetes:   a ConfigMap for each file, with the label grafana_dashboard: "1"

They ask for their Prometheus at the top, and show natively scraped histograms,
classic buckets and what came by OTLP alike. Grafana 10.4 or later.
`)
	return b.String()
}

// Write writes a file for each dashboard into dir, which it creates if missing, and returns the paths of those written.
func Write(dir string, dashboards []Dashboard) (paths []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for Grafana to read
		return nil, fmt.Errorf("create the directory for the dashboards: %w", err)
	}
	for _, d := range dashboards {
		path := filepath.Join(dir, d.Name+".json")
		if err := os.WriteFile(path, []byte(d.JSON), 0o644); err != nil { //nolint:gosec // for Grafana to read
			return paths, fmt.Errorf("write dashboard %s: %w", d.Name, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}
