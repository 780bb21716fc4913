// Package dashboards holds Grafana dashboards for what the prober exports. The JSON is
// written by dashboards/generate and never by hand.
package dashboards

import _ "embed"

// A Dashboard is a dashboard in Grafana's classic model: for import by hand,
// provisioning and the Kubernetes sidecar alike. It asks for its data source.
type Dashboard struct {
	Name  string // a word for the command line, and the name of its file
	UID   string // part of its address in Grafana, the same everywhere
	Title string
	About string // one sentence
	JSON  string
}

//go:embed overview.json
var overview string

//go:embed target.json
var target string

//go:embed compare.json
var compare string

//go:embed instrument.json
var instrument string

// All returns all dashboards; the one to start with comes first.
func All() []Dashboard {
	return []Dashboard{
		{"overview", "prober-overview", "Prober / Overview", "all targets, a row each", overview},
		{"target", "prober-target", "Prober / Target", "one target: objectives, latency distributions, failures, regressions", target},
		{"compare", "prober-compare", "Prober / Compare", "A against B, by location of the prober, week over week, client against server", compare},
		{"instrument", "prober-instrument", "Prober / Instrument", "health of the prober itself", instrument},
	}
}

// ByName returns the dashboard with a name.
func ByName(name string) (Dashboard, bool) {
	for _, b := range All() {
		if b.Name == name {
			return b, true
		}
	}
	return Dashboard{}, false
}
