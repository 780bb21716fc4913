package dashboards

import (
	"encoding/json"
	"os"
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
	Annotations   struct {
		List []struct {
			Name, Expr string
			Datasource source
		}
	}
	Templating struct {
		List []struct {
			Type, Name, AllValue string
			IncludeAll           bool
			Datasource           source
			Current              any
		}
	}
	Links  []struct{ URL string }
	Panels []panel
}

type source struct{ Type, UID string }

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               source
	GridPos                  struct{ H, W, X, Y int }
	Panels                   []panel
	Targets                  []struct {
		RefID, Expr, Format string
		Exemplar            bool
		Datasource          source
	}
	FieldConfig struct {
		Defaults struct {
			Unit, NoValue string
			Thresholds    struct{ Steps []struct{ Color string } }
		}
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
func (b dashboard) flat() []panel {
	var all []panel
	for _, p := range b.Panels {
		if p.Type == "row" {
			all = append(all, p.Panels...)
		} else {
			all = append(all, p)
		}
	}
	return all
}

func TestDashboardsAreComplete(t *testing.T) {
	var files []string
	for _, b := range All() {
		files = append(files, b.Name+".json")
		got := read(t, b)
		if got.ID != nil || got.UID != b.UID || got.Title != b.Title || got.SchemaVersion != 39 || !slices.Equal(got.Tags, []string{"prober"}) {
			t.Errorf("%s: id %v, uid %q, title %q, schema %d, tags %v", b.Name, got.ID, got.UID, got.Title, got.SchemaVersion, got.Tags)
		}
		for _, banned := range []string{`"version":`, `"pluginVersion":`, `"current":`, `"iteration":`, "__inputs"} {
			if strings.Contains(b.JSON, banned) {
				t.Errorf("%s has %s, which belongs to one Grafana", b.Name, banned)
			}
		}
		if found, unknown := Choose([]string{b.Name}); unknown != nil || found[0] != b {
			t.Errorf("Choose(%q) is %v, unknown %v", b.Name, found, unknown)
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !slices.Contains(files, e.Name()) {
			t.Errorf("%s is no dashboard of the package", e.Name())
		}
	}
	if found, unknown := Choose([]string{"nope"}); found != nil || len(unknown) != 1 {
		t.Error("Choose finds a dashboard that there is not")
	}
}

// TestLayout holds that panels lie side by side in full lines, that ids are
// unique, and that no two panels are in one place.
func TestLayout(t *testing.T) {
	for _, b := range All() {
		got, ids := read(t, b), map[int]bool{}
		checkLines(t, b.Name, got.Panels)
		for _, p := range got.Panels {
			checkLines(t, b.Name+" / "+p.Title, p.Panels)
			for _, each := range append([]panel{p}, p.Panels...) {
				if each.ID == 0 || ids[each.ID] {
					t.Errorf("%s: %q has the id %d", b.Name, each.Title, each.ID)
				}
				ids[each.ID] = true
			}
		}
	}
}

// checkLines holds that each line of the grid is 24 wide, or empty, and has each
// column once.
func checkLines(t *testing.T, where string, panels []panel) {
	t.Helper()
	lines := map[int][24]string{}
	for _, p := range panels {
		for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
			line := lines[y]
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				if x >= len(line) {
					t.Errorf("%s: %q is wider than the grid", where, p.Title)
					return
				}
				if line[x] != "" {
					t.Errorf("%s: %q and %q overlap", where, line[x], p.Title)
					return
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

// chosen is the data source that the reader chose.
var chosen = source{"prometheus", "${datasource}"}

// TestPanels holds what a reader needs: a unit, a description that ends with the
// name of a metric that is queried, a word for no data, neutral colour as a rule,
// and the data source that was chosen.
func TestPanels(t *testing.T) {
	for _, b := range All() {
		titles := map[string]bool{}
		for _, p := range read(t, b).flat() {
			where, d := b.Name+" / "+p.Title, p.FieldConfig.Defaults
			if p.Title == "" || d.Unit == "" || d.NoValue == "" || len(d.Thresholds.Steps) == 0 || p.Datasource != chosen {
				t.Errorf("%s: unit %q, no value %q, %d thresholds, source %v", where, d.Unit, d.NoValue, len(d.Thresholds.Steps), p.Datasource)
			}
			if titles[p.Type+p.Title] {
				t.Errorf("%s is there twice", where)
			}
			titles[p.Type+p.Title] = true
			_, metric, _ := strings.Cut(p.Description, "Metric: ")
			metric, queried, refs := strings.TrimSuffix(metric, "."), false, map[string]bool{}
			for _, q := range p.Targets {
				queried = queried || strings.Contains(q.Expr, metric)
				if q.Datasource != chosen || refs[q.RefID] || q.RefID == "" {
					t.Errorf("%s: query %q with source %v", where, q.RefID, q.Datasource)
				}
				refs[q.RefID] = true
				if heat := p.Type == "heatmap"; heat != (q.Format == "heatmap") || heat != q.Exemplar {
					t.Errorf("%s: a %s with format %s, exemplars %v", where, p.Type, q.Format, q.Exemplar)
				}
			}
			if metric == "" || !queried {
				t.Errorf("%s: the description %q does not end with the name of a metric of its queries", where, p.Description)
			}
		}
	}
}

var (
	selector = regexp.MustCompile(`(llm_probe[a-z0-9_]*)\{([^}]*)\}(\[)?`)
	bare     = regexp.MustCompile(`llm_prober?_[a-z0-9_]*[a-z0-9](?:[^a-z0-9_{:]|$)`)
	rated    = regexp.MustCompile(`(?:rate|increase)\(\s*$`)
)

// TestQueries holds that each of our series is taken from the chosen probers, and
// no counter without a rate; quantiles look back over the window and only
// heatmaps over Grafana's rate interval.
func TestQueries(t *testing.T) {
	for _, b := range All() {
		got := read(t, b)
		for _, a := range got.Annotations.List {
			if a.Datasource != chosen {
				t.Errorf("%s / annotation %s: source %v", b.Name, a.Name, a.Datasource)
			}
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
	for _, m := range selector.FindAllStringSubmatchIndex(expr, -1) {
		metric, matchers := expr[m[2]:m[3]], expr[m[4]:m[5]]
		if !strings.Contains(matchers, `job=~"$job"`) || !strings.Contains(matchers, `instance=~"$instance"`) {
			t.Errorf("%s: %s is taken from all probers:\n%s", where, metric, expr)
		}
		if strings.HasSuffix(metric, "_total") && (!rated.MatchString(expr[:m[0]]) || m[6] < 0) {
			t.Errorf("%s: %s without a rate:\n%s", where, metric, expr)
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
	known := []string{"vllm-overview"} // vLLM's own
	for _, b := range All() {
		known = append(known, b.UID)
	}
	uid, links := regexp.MustCompile(`/d/([a-z0-9-]+)`), 0
	for _, b := range All() {
		for _, m := range uid.FindAllStringSubmatch(b.JSON, -1) {
			if links++; !slices.Contains(known, m[1]) {
				t.Errorf("%s leads to %s, which there is not", b.Name, m[1])
			}
		}
	}
	if links < 6 {
		t.Errorf("%d links: the test does not see them", links)
	}
}

// TestVariables holds that every variable that is used is declared, that every
// one that is declared is used, and that All leaves nothing out.
func TestVariables(t *testing.T) {
	used := regexp.MustCompile(`\$\{?([a-z_]+)`)
	builtin := []string{"__range", "__rate_interval", "__interval", "__data", "__url_time_range"}
	for _, b := range All() {
		got, declared := read(t, b), map[string]bool{}
		for _, v := range got.Templating.List {
			declared[v.Name] = true
			if v.Type == "query" && v.Datasource != chosen {
				t.Errorf("%s: %s asks %v", b.Name, v.Name, v.Datasource)
			}
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
