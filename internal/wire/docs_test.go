package wire

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTheTableOfServers holds the table of docs/servers.md to servers.yaml: the same types in the order of
// recognition, and what can be measured of each.
func TestTheTableOfServers(t *testing.T) {
	page, err := os.ReadFile("../../docs/servers.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(page), "\n## ")
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		rows++
		if rows > len(servers) {
			t.Fatalf("no such row in servers.yaml: %s", line)
		}
		if len(cells) != 7 {
			t.Fatalf("%d columns, want 7: %s", len(cells), line)
		}
		checkRow(t, servers[rows-1], cells)
	}
	if rows != len(servers) {
		t.Errorf("%d rows, want %d, the next is %s", rows, len(servers), servers[rows].Name)
	}
}

// checkRow compares a row of the page with what is known of the server type.
func checkRow(t *testing.T, s Server, cells []string) {
	t.Helper()
	says := func(column int, name, want string) {
		if !strings.Contains(cells[column], want) {
			t.Errorf("%s: %s is %q, want %q in it", s.Name, name, strings.TrimSpace(cells[column]), want)
		}
	}
	says(0, "the server type", "`"+s.Name+"`")
	dialect := s.Dialect
	if dialect == nil {
		dialect = chat
	}
	says(1, "the API", "`"+dialect.Name+"`")
	counts, ok := dialect.Tokenizer(s)
	if ok {
		says(2, "the prompt", counts.Path)
	} else {
		says(2, "the prompt", "usage")
	}
	says(2, "the prompt", s.tokenizers.prompt.Path)
	claim := func(f Field) string {
		if !slices.Contains(dialect.Fields, f) {
			return string(Never)
		}
		return string(s.Claim(f))
	}
	if claim(FieldContinuousUsage) == string(Always) {
		says(3, "what tells the tokens of a frame", "usage")
	}
	for column, want := range map[int]string{4: claim(FieldIgnoreEOS), 5: string(s.ReportsCached)} {
		if got := strings.TrimSpace(cells[column]); got != want {
			t.Errorf("%s: column %d is %q, want %q", s.Name, column, got, want)
		}
	}
	evidence, _, _ := strings.Cut(strings.TrimSpace(cells[6]), ":")
	if !slices.Contains([]string{"run", "recorded", "documentation"}, evidence) {
		t.Errorf("%s: the evidence is %q", s.Name, evidence)
	}
}
