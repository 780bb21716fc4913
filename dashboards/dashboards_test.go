package dashboards

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A dashboard is what these tests look at in the JSON of one.
type dashboard struct {
	ID            *int
	UID, Title    string
	SchemaVersion int
	Tags          []string
	Annotations   struct{ List []struct{ Name, Expr string } }
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
	GridPos                  struct{ H, W, X, Y int }
	Panels                   []panel
	Targets                  []struct{ RefID, Expr string }
	FieldConfig              struct {
		Defaults struct{ Unit, NoValue string }
	}
}

// read decodes a dashboard.
func read(t *testing.T, b Dashboard) dashboard {
	t.Helper()
	var decoded dashboard
	if err := json.Unmarshal([]byte(b.JSON), &decoded); err != nil {
		t.Fatalf("%s: %v", b.Name, err)
	}
	return decoded
}

// flat is all panels of a dashboard, rows left out.
func (b dashboard) flat() (all []panel) {
	for _, p := range b.Panels {
		all = append(append(all, p), p.Panels...)
	}
	return slices.DeleteFunc(all, func(p panel) bool { return p.Type == "row" })
}

func TestDashboardsAreComplete(t *testing.T) {
	var files []string
	for _, b := range All() {
		files = append(files, b.Name+".json")
		got := read(t, b)
		isOurs := got.UID == b.UID && got.Title == b.Title && slices.Equal(got.Tags, []string{"prober"})
		if !isOurs || got.ID != nil || got.SchemaVersion != 39 {
			t.Errorf("%s: id %v, uid %q, title %q, schema %d, tags %v",
				b.Name, got.ID, got.UID, got.Title, got.SchemaVersion, got.Tags)
		}
		for _, banned := range []string{`"version":`, `"pluginVersion":`, `"current":`, `"iteration":`, "__inputs"} {
			if strings.Contains(b.JSON, banned) {
				t.Errorf("%s has %s, which belongs to one Grafana", b.Name, banned)
			}
		}
		asked := strings.Count(b.JSON, `"datasource":`)
		chosen := strings.Count(b.JSON, `"uid": "${datasource}"`)
		if asked != chosen {
			t.Errorf("%s: %d of %d data sources are the one that the reader chose", b.Name, chosen, asked)
		}
	}
	slices.Sort(files)
	if found, err := filepath.Glob("*.json"); err != nil || !slices.Equal(found, files) {
		t.Errorf("the files are %v and the dashboards %v: %v", found, files, err)
	}
}

// TestLayout holds that panels lie side by side in full lines of 24 columns, each column taken once.
func TestLayout(t *testing.T) {
	for _, b := range All() {
		got := read(t, b)
		checkLines(t, b.Name, got.Panels)
		for _, p := range got.Panels {
			checkLines(t, b.Name+" / "+p.Title, p.Panels)
		}
	}
}

func checkLines(t *testing.T, where string, panels []panel) {
	t.Helper()
	lines := map[int][24]string{}
	for _, p := range panels {
		for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
			line := lines[y]
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				if x >= len(line) || line[x] != "" {
					t.Fatalf("%s: %q is at column %d of line %d, as is %q", where, p.Title, x, y, line[min(x, 23)])
				}
				line[x] = p.Title
			}
			lines[y] = line
		}
	}
	for y, line := range lines {
		if slices.Contains(line[:], "") {
			t.Errorf("%s: line %d is not full: %q", where, y, line)
		}
	}
}

// TestPanels holds what a reader needs: a unit, a word for no data, a title of its own and a
// description that ends with the name of a metric that is queried.
func TestPanels(t *testing.T) {
	for _, b := range All() {
		titles, ids := map[string]bool{}, map[int]bool{}
		for _, p := range read(t, b).flat() {
			where, d := b.Name+" / "+p.Title, p.FieldConfig.Defaults
			if p.Title == "" || d.Unit == "" || d.NoValue == "" {
				t.Errorf("%s: unit %q, no value %q", where, d.Unit, d.NoValue)
			}
			if titles[p.Type+p.Title] || ids[p.ID] {
				t.Errorf("%s, id %d, is there twice", where, p.ID)
			}
			titles[p.Type+p.Title], ids[p.ID] = true, true
			_, metric, _ := strings.Cut(p.Description, " Metric: ")
			var queries strings.Builder
			for _, q := range p.Targets {
				queries.WriteString(q.Expr)
			}
			if metric == "" || !strings.Contains(queries.String(), metric) {
				t.Errorf("%s: the description %q does not end with the name of a metric of its queries", where, p.Description)
			}
		}
	}
}

var (
	selector = regexp.MustCompile(`(llm_probe[a-z0-9_]*)\{([^}]*)\}`)
	bare     = regexp.MustCompile(`llm_prober?_[a-z0-9_]*[a-z0-9](?:[^a-z0-9_{:]|$)`)
)

// TestQueries holds that each of our series is taken from the chosen probers, that
// quantiles look back over the window and only heatmaps over Grafana's rate interval.
func TestQueries(t *testing.T) {
	for _, b := range All() {
		got := read(t, b)
		for _, a := range got.Annotations.List {
			checkQuery(t, b.Name+" / annotation "+a.Name, a.Expr)
		}
		for _, p := range got.flat() {
			for _, q := range p.Targets {
				checkQuery(t, b.Name+" / "+p.Title+" / "+q.RefID, q.Expr)
				if strings.Contains(q.Expr, "$__rate_interval") != (p.Type == "heatmap") {
					t.Errorf("%s / %s: $__rate_interval is for heatmaps:\n%s", b.Name, p.Title, q.Expr)
				}
			}
		}
	}
}

func checkQuery(t *testing.T, where, expr string) {
	t.Helper()
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		if !strings.Contains(m[2], `job=~"$job"`) || !strings.Contains(m[2], `instance=~"$instance"`) {
			t.Errorf("%s: %s is taken from all probers:\n%s", where, m[1], expr)
		}
	}
	for _, recorded := range []string{"target:", "group:"} {
		expr = strings.ReplaceAll(expr, recorded+"llm_probe", recorded)
	}
	if m := bare.FindString(expr); m != "" {
		t.Errorf("%s: %s is taken from all probers", where, m)
	}
}

// TestLinks holds that links between dashboards lead to dashboards.
func TestLinks(t *testing.T) {
	var known []string
	for _, b := range All() {
		known = append(known, b.UID)
	}
	uid, links := regexp.MustCompile(`/d/([a-z0-9-]+)`), 0
	for _, b := range All() {
		for _, m := range uid.FindAllStringSubmatch(b.JSON, -1) {
			links++
			if !slices.Contains(known, m[1]) {
				t.Errorf("%s leads to %s, which there is not", b.Name, m[1])
			}
		}
	}
	if links < 3 {
		t.Errorf("%d links: the test does not see them", links)
	}
}

// TestVariables holds that every variable that is used is declared, that every
// one that is declared is used, and that All leaves nothing out.
func TestVariables(t *testing.T) {
	used := regexp.MustCompile(`\$\{?([a-z_]+)`)
	builtin := []string{"__range", "__rate_interval", "__interval", "__data", "__field", "__url_time_range"}
	for _, b := range All() {
		got, declared := read(t, b), map[string]bool{}
		for _, v := range got.Templating.List {
			declared[v.Name] = true
			if v.IncludeAll && v.AllValue != ".*" {
				t.Errorf("%s: all of %s is %q, which leaves out series without it", b.Name, v.Name, v.AllValue)
			}
			if !strings.Contains(b.JSON, "$"+v.Name) && !strings.Contains(b.JSON, "${"+v.Name) {
				t.Errorf("%s: nothing uses %s", b.Name, v.Name)
			}
		}
		for _, m := range used.FindAllStringSubmatch(b.JSON, -1) {
			if !declared[m[1]] && !slices.Contains(builtin, m[1]) {
				t.Errorf("%s uses %s, which is no variable of it", b.Name, m[0])
			}
		}
		if got.Templating.List[0].Name != "datasource" || got.Templating.List[0].Type != "datasource" {
			t.Errorf("%s: the data source cannot be chosen", b.Name)
		}
	}
}
