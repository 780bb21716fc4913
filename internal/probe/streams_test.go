package probe

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/wire"
)

// TestStreams holds the definitions of DESIGN §1: what a probe measures of each stream in testdata/streams. README.md
// there explains the files. The server writes in virtual time, so that every duration is exact.
func TestStreams(t *testing.T) {
	for _, path := range must(filepath.Glob("testdata/streams/*.txt")) {
		inBubble(t, strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			file := must(txtar.ParseFile(path))
			want := len(file.Files) - 1
			server := scriptIn(t, file.Files[:want]).stream
			ask := wire.Ask{Model: "m", Prompt: "Words: time", MaxTokens: 10}
			api := "openai-chat"
			for line := range strings.Lines(string(file.Comment)) {
				setting, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				switch setting {
				case "api":
					api = value
				case "server":
					ask.Server = must(wire.LookupServer(value))
				case "asked":
					ask.MaxTokens = must(strconv.Atoi(value))
				}
			}
			if api == "ollama" {
				server = withType(typeNDJSON, server)
			}
			target := serve(t, server)
			target.Dialect = must(wire.Lookup(api))
			file.Files[want].Data = []byte(strings.Join(measurements(target.Probe(t.Context(), ask)), "\n") + "\n")
			golden.Equal(t, path, string(txtar.Format(file)))
		})
	}
}

// scriptIn returns the script that the sections of a file describe. Each is called after its moment, counted from the
// request.
func scriptIn(t *testing.T, sections []txtar.File) (s script) {
	t.Helper()
	before := 0 * ms
	for _, section := range sections {
		moment, then, _ := strings.Cut(section.Name, ", then ")
		ending, ok := map[string]ending{"": goOn, "silence": hang, "the connection is cut": cut}[then]
		if !ok {
			t.Fatalf("section %q: want silence, or the connection is cut", section.Name)
		}
		at := must(time.ParseDuration(moment))
		s = append(s, step{after: at - before, send: string(section.Data), then: ending})
		before = at
	}
	return s
}

// measurements returns all that a result says of its answer, a line each. What is not there has no sample.
func measurements(r *Result) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("%s", said(r))
	ttft, ok := r.TTFT()
	if ok {
		say("TTFT %v", ttft)
	}
	ttfat, answered := r.TTFAT()
	switch {
	case answered && ttfat != ttft:
		say("TTFAT %v", ttfat)
	case ok && !answered:
		say("no TTFAT")
	}
	for _, sample := range []struct {
		name  string
		value func() (time.Duration, bool)
	}{{"TPOT", r.TPOT}, {"E2EL", r.E2EL}, {"max gap", r.MaxGap}} {
		d, ok := sample.value()
		if ok {
			say("%s %v", sample.name, d)
		}
	}
	if r.Hidden {
		say("hidden reasoning")
	}
	gaps, itl := runs(r.ChunkGaps()), runs(r.ITL())
	if gaps != "" {
		say("gaps %s", gaps)
	}
	if itl != "" {
		say("ITL %s", itl)
	}
	for _, counted := range []struct {
		n    int
		what string
	}{
		{r.Timeline.Coalesced(), "coalesced"}, {r.Timeline.JoinedTokens(), "joined"}, {r.Timeline.Bursts(), "in bursts"},
		{r.Usage.Prompt.N, "prompt"}, {r.Usage.Cached.N, "cached"}, {r.Usage.Reasoning.N, "reasoning"},
		{r.Usage.Generated().N, "output"},
	} {
		if counted.n > 0 {
			say("%d %s", counted.n, counted.what)
		}
	}
	if r.Source != FromNothing {
		say("by %s", r.Source)
	}
	for _, warning := range r.Warnings {
		if !warning.Derived {
			say("warning: %s", warning.Text)
		}
	}
	return lines
}

// runs returns durations as text, equal ones in a row as one.
func runs(all iter.Seq[time.Duration]) string {
	var words []string
	list := slices.Collect(all)
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n] == list[0] {
			n++
		}
		words = append(words, fmt.Sprintf("%d×%v", n, list[0]))
		list = list[n:]
	}
	return strings.Join(words, " ")
}
