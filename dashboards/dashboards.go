// Package dashboards holds Grafana dashboards for what the prober exports. Their JSON is embedded: dashboards/generate
// writes it from YAML files, and nobody edits it. The package lists the dashboards and writes them to files.
//
// To change a panel, begin at dashboards/generate/common.yaml.
package dashboards

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Dashboard is in Grafana's classic model, which serves for import by hand, for provisioning and for the Kubernetes
// sidecar. The user chooses its data source in Grafana.
type Dashboard struct {
	Name  string // a word for the command line, and the name of its file
	UID   string // a part of its address in Grafana, the same in every installation
	Title string
	About string // one sentence
	JSON  string
}

//go:embed *.json
var files embed.FS

// All returns the dashboards. The first one is where to begin.
func All() []Dashboard {
	all := []Dashboard{
		{
			Name:  "overview",
			Title: "Prober / Overview",
			About: "all targets, a row each",
		},
		{
			Name:  "target",
			Title: "Prober / Target",
			About: "one target: objectives, latency distributions, failures, regressions",
		},
		{
			Name:  "compare",
			Title: "Prober / Compare",
			About: "A against B: differences, ratios, distributions, week over week",
		},
		{
			Name:  "instrument",
			Title: "Prober / Instrument",
			About: "health of the prober itself",
		},
	}
	for i, d := range all {
		text, _ := files.ReadFile(d.Name + ".json") // it is embedded
		all[i].UID = "prober-" + d.Name
		all[i].JSON = string(text)
	}
	return all
}

// Names returns the names of all dashboards.
func Names() []string {
	var names []string
	for _, d := range All() {
		names = append(names, d.Name)
	}
	return names
}

// Choose returns the dashboards of some names, or all if there are no names. It also returns the names that no
// dashboard has.
func Choose(names []string) (chosen []Dashboard, unknown []string) {
	if len(names) == 0 {
		return All(), nil
	}
	all := All()
	for _, name := range names {
		i := slices.Index(Names(), name)
		if i >= 0 {
			chosen = append(chosen, all[i])
		} else {
			unknown = append(unknown, name)
		}
	}
	return chosen, unknown
}

// List returns a text for people: which dashboards there are, and how they get into Grafana.
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

Choose the Prometheus at the top of each. They show native histograms, classic
buckets and metrics received over OTLP alike. They need Grafana 10.4 or later.
`)
	return b.String()
}

// Write writes a file for each dashboard into dir, which it creates if it is missing. It returns the paths of the files
// that it wrote.
func Write(dir string, dashboards []Dashboard) (paths []string, err error) {
	err = os.MkdirAll(dir, 0o755) //nolint:gosec // Grafana reads it as another user
	if err != nil {
		return nil, fmt.Errorf("create the directory for the dashboards: %w", err)
	}
	for _, d := range dashboards {
		path := filepath.Join(dir, d.Name+".json")
		err = os.WriteFile(path, []byte(d.JSON), 0o644) //nolint:gosec // Grafana reads it as another user
		if err != nil {
			return paths, fmt.Errorf("write dashboard %s: %w", d.Name, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}
