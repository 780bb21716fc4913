package dashboards

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A dashboard has the parts of a dashboard's JSON that these tests read.
type dashboard struct {
	ID            *int
	UID, Title    string
	SchemaVersion int
	Tags          []string
	Templating    struct {
		List []struct {
			Type, Name, AllValue string
			IncludeAll           bool
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Panels                   []panel
	Targets                  []struct{ Expr string }
	FieldConfig              struct {
		Defaults struct {
			Unit, NoValue string
			Thresholds    thresholds
		}
		Overrides []struct {
			Properties []struct {
				ID    string
				Value json.RawMessage
			}
		}
	}
}

type thresholds struct{ Steps []struct{ Color string } }

// read decodes a dashboard.
func read(t *testing.T, d Dashboard) dashboard {
	t.Helper()
	var decoded dashboard
	if err := json.Unmarshal([]byte(d.JSON), &decoded); err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	return decoded
}

// flat returns all panels of a dashboard except the headings of rows.
func (d dashboard) flat() (all []panel) {
	for _, p := range d.Panels {
		all = append(append(all, p), p.Panels...)
	}
	return slices.DeleteFunc(all, func(p panel) bool { return p.Type == "row" })
}

// TestDashboardsFitEveryGrafana holds that each dashboard has its UID and its file, and nothing that belongs to a
// single Grafana. The reader chooses the data source.
func TestDashboardsFitEveryGrafana(t *testing.T) {
	var files []string
	for _, d := range All() {
		files = append(files, d.Name+".json")
		got := read(t, d)
		if got.ID != nil || got.UID != d.UID || got.Title != d.Title || got.SchemaVersion != 39 {
			t.Errorf("%s: id %v, uid %q, title %q, schema %d", d.Name, got.ID, got.UID, got.Title, got.SchemaVersion)
		}
		if !slices.Equal(got.Tags, []string{"prober"}) { // by which dashboards link to each other
			t.Errorf("%s: tags %q", d.Name, got.Tags)
		}
		ownVersion := "\n  \"version\":" // of the dashboard; a table may have a column of the name
		for _, banned := range []string{ownVersion, `"pluginVersion":`, `"current":`, `"iteration":`, "__inputs"} {
			if strings.Contains(d.JSON, banned) {
				t.Errorf("%s has %s, which belongs to one Grafana", d.Name, banned)
			}
		}
		sources := strings.Count(d.JSON, `"datasource":`)
		chosen := strings.Count(d.JSON, `"uid": "${datasource}"`)
		if sources != chosen || got.Templating.List[0].Type != "datasource" {
			t.Errorf("%s: %d of %d data sources are the one that the reader chose", d.Name, chosen, sources)
		}
	}
	slices.Sort(files)
	found, err := filepath.Glob("*.json")
	if err != nil || !slices.Equal(found, files) {
		t.Errorf("the files are %v and the dashboards %v: %v", found, files, err)
	}
}

// TestPanels holds what a reader needs: a unit, a text if there is no data, a title of its own, and a description that
// ends with the name of a metric in the queries. Quantiles look back over the window, and heatmaps over Grafana's rate
// interval. No query asks for a prompt by a name of its own: a user gives prompts their names.
func TestPanels(t *testing.T) {
	promptByName := regexp.MustCompile(`prompt=~?"[^"$]`)
	for _, d := range All() {
		titles, ids := map[string]bool{}, map[int]bool{}
		for _, p := range read(t, d).flat() {
			where := d.Name + " / " + p.Title
			defaults := p.FieldConfig.Defaults
			if p.Title == "" || defaults.Unit == "" || defaults.NoValue == "" {
				t.Errorf("%s: unit %q, no value %q", where, defaults.Unit, defaults.NoValue)
			}
			if titles[p.Type+p.Title] || ids[p.ID] {
				t.Errorf("%s, id %d, is there twice", where, p.ID)
			}
			titles[p.Type+p.Title], ids[p.ID] = true, true
			var queries strings.Builder
			for _, q := range p.Targets {
				queries.WriteString(q.Expr)
			}
			_, metric, _ := strings.Cut(p.Description, " Metric: ")
			if metric == "" || !strings.Contains(queries.String(), metric) {
				t.Errorf("%s: the description %q does not end with a metric of the queries", where, p.Description)
			}
			if strings.Contains(queries.String(), "$__rate_interval") != (p.Type == "heatmap") {
				t.Errorf("%s: $__rate_interval is for heatmaps, and for nothing else:\n%s", where, queries.String())
			}
			if name := promptByName.FindString(queries.String()); name != "" {
				t.Errorf("%s: a query names a prompt: %s", where, name)
			}
		}
	}
}

// TestObjectivesStandBesideRefusals holds that where an objective is shown, the share of refused probes is shown in
// the same row, and no green: refusals are no events of an objective, which is met while nobody gets an answer.
func TestObjectivesStandBesideRefusals(t *testing.T) {
	rows := 0
	for _, d := range All() {
		row, objectives, refusals := "", 0, 0
		check := func() {
			if objectives > 0 && refusals == 0 {
				t.Errorf("%s: the row %q shows objectives, but not refused probes", d.Name, row)
			}
			rows += min(objectives, 1)
			objectives, refusals = 0, 0
		}
		for _, p := range read(t, d).Panels {
			if p.Type == "row" {
				check()
				row = p.Title
			}
			for _, p := range append([]panel{p}, p.Panels...) {
				for _, q := range p.Targets {
					if strings.Contains(q.Expr, `outcome=~"unauthorized|rate_limited|filtered"}[`) {
						refusals++
					}
					if strings.Contains(q.Expr, "_objective_") && p.Type != "state-timeline" {
						objectives++
						checkNoGreen(t, d.Name, p)
					}
				}
			}
		}
		check()
	}
	if rows < 3 {
		t.Errorf("%d rows with objectives: the test does not see them", rows)
	}
}

// checkNoGreen holds that no value of a panel turns green.
func checkNoGreen(t *testing.T, name string, p panel) {
	t.Helper()
	all := []thresholds{p.FieldConfig.Defaults.Thresholds}
	for _, o := range p.FieldConfig.Overrides {
		for _, property := range o.Properties {
			if property.ID == "thresholds" {
				var own thresholds
				if err := json.Unmarshal(property.Value, &own); err != nil {
					t.Fatal(err)
				}
				all = append(all, own)
			}
		}
	}
	for _, one := range all {
		for _, step := range one.Steps {
			if step.Color == "green" {
				t.Errorf("%s / %s: an objective is green", name, p.Title)
			}
		}
	}
}

// TestLinks holds that links between dashboards lead to dashboards.
func TestLinks(t *testing.T) {
	known := map[string]bool{}
	for _, d := range All() {
		known[d.UID] = true
	}
	link := regexp.MustCompile(`/d/([a-z0-9-]+)`)
	links := 0
	for _, d := range All() {
		for _, m := range link.FindAllStringSubmatch(d.JSON, -1) {
			links++
			if !known[m[1]] {
				t.Errorf("%s links to %s, which does not exist", d.Name, m[1])
			}
		}
	}
	if links < 3 {
		t.Errorf("%d links: the test does not see them", links)
	}
}

// TestVariables holds that each variable that is used is declared, that each one that is declared is used, and that the
// choice All leaves no series out.
func TestVariables(t *testing.T) {
	used := regexp.MustCompile(`\$\{?([a-z_]+)`)
	builtin := []string{"__range", "__rate_interval", "__interval", "__data", "__field", "__value", "__url_time_range"}
	for _, d := range All() {
		declared := map[string]bool{}
		for _, v := range read(t, d).Templating.List {
			declared[v.Name] = true
			if v.IncludeAll && v.AllValue != ".*" {
				t.Errorf("%s: all of %s is %q, which leaves out series without it", d.Name, v.Name, v.AllValue)
			}
			isUsed := strings.Contains(d.JSON, "$"+v.Name) || strings.Contains(d.JSON, "${"+v.Name)
			if !isUsed && v.Type != "adhoc" { // which Grafana adds to each query by itself
				t.Errorf("%s: nothing uses %s", d.Name, v.Name)
			}
		}
		for _, m := range used.FindAllStringSubmatch(d.JSON, -1) {
			if !declared[m[1]] && !slices.Contains(builtin, m[1]) {
				t.Errorf("%s uses %s, which is not declared", d.Name, m[0])
			}
		}
	}
}
