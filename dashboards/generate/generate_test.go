package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llm-prober/prober/dashboards"
)

var update = flag.Bool("update", false, "write the dashboards")

// TestDashboardsAreWhatTheGeneratorSays checks that the JSON was not edited by hand.
func TestDashboardsAreWhatTheGeneratorSays(t *testing.T) {
	if *update {
		if err := write(".."); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range dashboards.Names() {
		want, err := generate(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("dashboards/%s.json is not what the generator writes: run make generate", name)
		}
	}
}

// A box is a panel or a row in Grafana's grid.
type box struct {
	Type, Title string
	Collapsed   bool
	GridPos     struct{ W, Y int }
	Panels      []box
}

// draw writes panels as text: a line for those side by side, four characters to a column of the grid, or as wide as
// their titles if one of these is too long.
func draw(out *strings.Builder, panels []box) {
	for len(panels) > 0 {
		first, n := panels[0], 1
		if first.Type == "row" {
			mark := map[bool]string{false: "▼", true: "▶"}[first.Collapsed]
			fmt.Fprintf(out, "%s %s\n", mark, first.Title)
			draw(out, first.Panels)
		} else {
			for n < len(panels) && panels[n].Type != "row" && panels[n].GridPos.Y == first.GridPos.Y {
				n++
			}
			fits, free, edge := true, 4*24, "├"
			for _, p := range panels[:n] {
				size := 2 + utf8.RuneCountInString(p.Title)
				fits, free = fits && size <= 4*p.GridPos.W, free-size
			}
			for _, p := range panels[:n] {
				line := max(0, free) / n
				if fits {
					line = 4*p.GridPos.W - 2 - utf8.RuneCountInString(p.Title)
				}
				out.WriteString(edge + "─" + p.Title + strings.Repeat("─", line))
				edge = "┼"
			}
			out.WriteString("┤\n")
		}
		panels = panels[n:]
	}
}

// TestPage holds that docs/dashboards.md shows where each panel is.
func TestPage(t *testing.T) {
	const path = "../../docs/dashboards.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wanted := string(page)
	for _, d := range dashboards.All() {
		var drawn strings.Builder
		var of struct{ Panels []box }
		if err := json.Unmarshal([]byte(d.JSON), &of); err != nil {
			t.Fatal(err)
		}
		draw(&drawn, of.Panels)
		block := regexp.MustCompile("(?s)(\n## " + strings.TrimPrefix(d.Title, "Prober / ") + "\n.*?\n```text\n).*?```")
		wanted = block.ReplaceAllString(wanted, "${1}"+strings.ReplaceAll(drawn.String(), "$", "$$")+"```")
		if !strings.Contains(wanted, drawn.String()) {
			t.Errorf("%s has no drawing of %s", path, d.Name)
		}
	}
	if *update {
		err = os.WriteFile(path, []byte(wanted), 0o644) //nolint:gosec // for everybody
	} else if wanted != string(page) {
		t.Errorf("%s shows other panels: run make generate", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}
