package probe

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/llm-prober/prober/internal/wire"
)

// ProbeOfStream probes a server that answers as the sections of a file say, in virtual time. The head of the file has
// settings: see testdata/streams/README.md.
func ProbeOfStream(t *testing.T, head string, sections []txtar.File) *Result {
	server := scriptIn(t, sections).stream
	ask := wire.Ask{Model: "m", Prompt: "Words: time", MaxTokens: 10}
	api := "openai-chat"
	for line := range strings.Lines(head) {
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
	return target.Probe(t.Context(), ask)
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

// Measurements returns all that a result says of its answer, a line each, but not its warnings. What is not there has no sample.
func Measurements(r *Result) (lines []string) {
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
	if r.ReasoningHidden {
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

// ProbesOfEchoes probes servers whose answers repeat a key in one place each, and returns the results by the place.
func ProbesOfEchoes(t *testing.T, key string) map[string]*Result {
	results := map[string]*Result{}
	for place, answer := range echoes(key) {
		target := newTarget(answering(answer, io.EOF))
		target.Key = key
		results[place] = target.Probe(t.Context(), wire.Ask{Model: "m", Prompt: "p", MaxTokens: 1})
	}
	return results
}
