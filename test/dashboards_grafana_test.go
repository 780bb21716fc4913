package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// TestGrafanaReadsTheDashboards decodes each dashboard by Grafana's own schema, which has the options of each type of
// panel and the fields of a query to Prometheus: nothing is missing that it requires, and nothing is there that it does
// not know. It does not see into overrides, whose values may be anything.
func TestGrafanaReadsTheDashboards(t *testing.T) {
	paths, err := filepath.Glob("../dashboards/*.json")
	must(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must(t, err)
		for _, complaint := range grafanaComplaints(t, string(data)) {
			t.Errorf("%s: %s", path, complaint)
		}
	}
}

// TestGrafanaComplains holds that the schema finds what is misspelt, in each part of a dashboard.
func TestGrafanaComplains(t *testing.T) {
	data, err := os.ReadFile("../dashboards/overview.json")
	must(t, err)
	for _, name := range []string{
		"schemaVersion", "iconColor", "includeAll", "gridPos", "cellHeight", "mergeValues", "graphMode", "lineWidth",
		"fillOpacity", "noValue", "legendFormat", "transformations", "options", "fieldConfig", "state-timeline",
	} {
		misspelt := strings.ReplaceAll(string(data), `"`+name+`"`, `"`+name+`s"`)
		complaints := strings.Join(grafanaComplaints(t, misspelt), "\n")
		if !strings.Contains(complaints, "'"+name+"s'") {
			t.Errorf("%ss is misspelt, and Grafana's schema says %q", name, complaints)
		}
	}
}

// grafanaComplaints returns what is wrong with a dashboard by Grafana's schema, with its place, save for two mistakes of the
// schema: it lacks the filters of an ad hoc variable, which Grafana itself writes, and takes a link of a value for one of
// a dashboard. What holds for the fields of a panel is decoded apart, because the decoder of a panel does not mind if
// there is more.
func grafanaComplaints(t *testing.T, data string) (complaints []string) {
	t.Helper()
	plugins.RegisterDefaultPlugins()
	var board dashboard.Dashboard //nolint:staticcheck // the classic model, which every Grafana provisions from files
	var panels struct{ Panels []panelFields }
	must(t, json.Unmarshal([]byte(data), &panels))
	found := []error{board.UnmarshalJSONStrict([]byte(data)), board.Validate()}
	for _, p := range panels.Panels {
		for _, p := range append([]panelFields{p}, p.Panels...) {
			_, isType := cog.ConfigForPanelcfgVariant(p.Type)
			if !isType && p.Type != "row" {
				complaints = append(complaints, fmt.Sprintf("%s: there is no panel of the type '%s'", p.Title, p.Type))
			}
			var fields dashboard.FieldConfigSource
			err := fields.UnmarshalJSONStrict(p.FieldConfig)
			if err != nil {
				found = append(found, cog.MakeBuildErrors(p.Title, err))
			}
		}
	}
	for _, err := range found {
		if err == nil {
			continue
		}
		for _, wrong := range cog.MakeBuildErrors("dashboard", err) {
			isFilters := strings.Contains(wrong.Path, ".templating.list[") && wrong.Message == "unexpected field 'filters'"
			isDataLink := strings.Contains(wrong.Path, ".defaults.links[") && strings.HasPrefix(wrong.Message, "required field")
			if !isFilters && !isDataLink {
				complaints = append(complaints, wrong.Error())
			}
		}
	}
	return complaints
}

// panelFields are what holds for the fields of a panel, and of the panels of a row.
type panelFields struct {
	Title, Type string
	FieldConfig json.RawMessage
	Panels      []panelFields
}
