package probe

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/wire"
)

// TestANewDialectIsComplete prints what a dialect or a type of server still lacks, all at once. What the parts say is
// held by their own tests. With -update, a stream that has no file of what it must decode to gets one.
func TestANewDialectIsComplete(t *testing.T) {
	if golden.Updating() {
		writeMissingFixtures(t)
	}
	page := string(must(os.ReadFile("../../docs/servers.md")))
	type stream struct{ folder, api string }
	streams := map[stream]bool{}
	for _, path := range must(filepath.Glob(streamsOfServers + "*/*.want")) {
		streams[stream{filepath.Base(filepath.Dir(path)), readFixture(t, path).Dialect}] = true
	}
	hasStream := func(fits func(stream) bool) bool {
		for s := range streams {
			if fits(s) {
				return true
			}
		}
		return false
	}
	isServed := func(fits func(served) bool) bool { return slices.ContainsFunc(servedTypes(), fits) }

	names := append(wire.APIs(), wire.Servers()...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		var lacks []string
		need := func(isThere bool, what string) {
			if !isThere {
				lacks = append(lacks, what)
			}
		}
		dialect, err := wire.Lookup(name)
		if err == nil {
			need(dialect.Operation != "" && dialect.Provider != "",
				"the fields Operation and Provider of its wire.Dialect, for the GenAI metrics")
			need(slices.ContainsFunc(wire.Servers(), func(server string) bool {
				return must(wire.LookupServer(server)).Dialect == dialect
			}) || strings.Contains(page, "`"+name+"`"),
				"an entry of internal/wire/servers.yaml and a row of docs/servers.md, or a place under APIs there")
			need(hasStream(func(s stream) bool { return s.api == name }), "a stream in internal/wire/testdata/"+name)
			need(isServed(func(s served) bool { return s.api == name }),
				"a row of servedTypes in internal/probe/servers_test.go for the API")
		}
		server, err := wire.LookupServer(name)
		if err == nil && name != wire.Auto {
			api := cmp.Or(server.Dialect, assumedDialect).Name
			need(strings.Contains(page, "\n| `"+name+"`"), "a row of docs/servers.md")
			need(streams[stream{name, api}], "a stream of "+api+" in internal/wire/testdata/"+name)
			need(isServed(func(s served) bool { return s.server == name }),
				"a row of servedTypes in internal/probe/servers_test.go for the type of server")
		}
		if len(lacks) > 0 {
			t.Errorf("%s lacks:\n\t- %s", name, strings.Join(lacks, "\n\t- "))
		}
	}
}
