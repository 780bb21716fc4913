package wire

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheTableOfServers holds the table of docs/servers.md: the server types of servers.yaml in the order of
// recognition, and what each column says of them.
func TestTheTableOfServers(t *testing.T) {
	page, err := os.ReadFile("../../docs/servers.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(page), "\n## ")
	var rows [][]string
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | "))
		}
	}
	for i, s := range servers {
		if i >= len(rows) || !strings.Contains(rows[i][0], "`"+s.Name+"`") {
			t.Fatalf("row %d of the page is not %s, as in servers.yaml", i+1, s.Name)
		}
		checkRow(t, s, rows[i])
	}
	if len(rows) > len(servers) {
		t.Errorf("no such row in servers.yaml: %s", rows[len(servers)])
	}
}

// checkRow compares a row of the page with what the code knows of the server type.
func checkRow(t *testing.T, s Server, cells []string) {
	t.Helper()
	dialect := cmp.Or(s.Dialect, chat)
	counts := "usage"
	tokenizer, ok := dialect.Tokenizer(s)
	if ok {
		counts = tokenizer.Path
	}
	exact := Never
	if slices.Contains(dialect.Fields, FieldIgnoreEOS) {
		exact = s.Claim(FieldIgnoreEOS)
	}
	columns := []struct{ name, want, pattern string }{
		{"server type", "`" + s.Name + "`", "`" + regexp.QuoteMeta(s.Name) + "`"},
		{"API", dialect.Name, "^`" + dialect.Name + "`$"},
		{"prompt", counts, "^(`" + counts + "`|" + counts + ")"},
		{"tokens of a frame", tokensOfAFrame(t, s, dialect), "^" + tokensOfAFrame(t, s, dialect) + `\b`},
		{"exact answer", string(exact), "^" + string(exact) + "$"},
		{"cache", string(s.ReportsCached), "^" + string(s.ReportsCached) + "$"},
		{"evidence", "run: VERSION, recorded or documentation", "^(run: .*|recorded.*|documentation)$"},
	}
	if len(cells) != len(columns) {
		t.Fatalf("%s: %d columns, want %d", s.Name, len(cells), len(columns))
	}
	for i, column := range columns {
		cell := strings.TrimSpace(cells[i])
		if !regexp.MustCompile(column.pattern).MatchString(cell) {
			t.Errorf("docs/servers.md, %s: the column %q is %q, and by the code %s", s.Name, column.name, cell, column.want)
		}
	}
	if completions := s.tokenizers.prompt.Path; !strings.Contains(cells[2], completions) {
		t.Errorf("%s: the column %q is %q, want %s for completions", s.Name, columns[2].name, cells[2], completions)
	}
}

// tokensOfAFrame returns by what the tokens of a frame are known: usage that a request asks for, or else what the
// streams of testdata have.
func tokensOfAFrame(t *testing.T, s Server, d *Dialect) string {
	t.Helper()
	if slices.Contains(d.Fields, FieldContinuousUsage) && s.Claim(FieldContinuousUsage) == Always {
		return "usage"
	}
	withIDs, usages, withUsage := 0, 0, 0 // frames
	for _, path := range files(t, s.Name+"/*.want") {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		object, _ := parseJSON(want)
		if member(object, "dialect").Str != d.Name {
			continue
		}
		stream, err := os.ReadFile(strings.TrimSuffix(path, filepath.Ext(path)) + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, frame := range regexp.MustCompile(`(?m)\{.*$`).FindAll(stream, -1) {
			delta, err := d.Decode(frame)
			if err != nil {
				continue
			}
			if delta.Tokens > 0 {
				withIDs++
			}
			if delta.Usage.Output.Known {
				usages++
				if len(delta.Text) > 0 {
					withUsage++
				}
			}
		}
	}
	switch {
	case withIDs > 0 || s.TokenFrames:
		return "ids"
	case withUsage > 1:
		return "usage"
	case usages > 0:
		return "total"
	}
	return "none"
}
