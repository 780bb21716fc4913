package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/usage"
)

// setPrompts adds a target with prompts, each with one objective.
func setPrompts(b *Board, target string, prompts ...string) {
	for i, name := range prompts {
		b.Set(probe.Description{
			Name: target, Group: target, URL: "http://" + target + ":8000", Model: "llama", API: "openai-chat", Server: "vllm",
			Prompt: name, PromptKind: "cold", PromptTokens: 100 * (i + 1), MaxTokens: 20, Interval: 40 * time.Second,
			TokensPerDay: 1000 * (i + 1), Further: i > 0, Labels: map[string]string{"team": "search"},
			Notes: []string{"rejects cache_salt: asked without it"},
			Objectives: []probe.Objective{
				{Name: "up", Signal: probe.SignalAvailability, Goal: 0.9},
			},
		})
	}
}

// asking returns a result as one of another prompt.
func asking(r *probe.Result, prompt string) *probe.Result {
	r.Prompt = prompt
	r.TraceID = fmt.Sprintf("%x%s", prompt, r.TraceID)[:32]
	return r
}

// promptsBoard returns a board with a target of four prompts, one of which fails and one of which misses its
// objective, and one with a single prompt.
func promptsBoard() *Board {
	b := NewBoard(time.Now(), "v1", "", Links{
		External: "https://prober.example.com", Grafana: "https://grafana.example.com",
	})
	setPrompts(b, "qwen", "short", "rag", "warm", "needle")
	setPrompts(b, "solo", "short")
	for range 4 {
		time.Sleep(10 * time.Second)
		b.Record(asking(success("qwen", 20*ms, 30*ms), "short"))
		b.Record(asking(stalled("qwen"), "rag"))
		b.Record(asking(stalled("qwen"), "warm"))
		b.Record(asking(success("solo", 50*ms, 60*ms), "short"))
	}
	b.Record(asking(success("qwen", 200*ms, 230*ms), "warm"))
	b.Skipped("qwen", "rag", "overlap")
	b.Skipped("qwen", "warm", "overlap")
	time.Sleep(5 * time.Second)
	return b
}

// TestPageOfPrompts holds what stands on the page of a target with several prompts: as a card, with one of its prompts
// chosen, and in the table of many targets. One with a single prompt looks as if there were no others.
func TestPageOfPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := promptsBoard()
		text := ""
		show := func(path string) string {
			body := get(t, b, path).Body.String()
			text += "# " + path + "\n" + textOf(body) + "\n"
			return body
		}
		closed := show("/")
		equal(t, "prompts that are unfolded among several targets", strings.Count(closed, " open>"), 0)
		opened := get(t, b, "/?target=qwen").Body.String()
		equal(t, "prompts that are unfolded of a chosen target", strings.Count(opened, " open>"), 4)
		equal(t, "the target alone", shownTargets(opened), "qwen")
		show("/?target=qwen&prompt=rag")
		for n := range 8 {
			setPrompts(b, fmt.Sprint("more-", n), "short")
		}
		show("/")
		show("/?prompt=short&sort=ttft")
		golden.Equal(t, "testdata/prompts.txt", text)
	})
}

// TestTargetsOfPrompts holds the JSON of a target with several prompts, and that one with a single prompt has the
// fields of its prompt beside its own.
func TestTargetsOfPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := get(t, promptsBoard(), "/api/v1/targets").Body.Bytes()
		var text bytes.Buffer
		if err := json.Indent(&text, body, "", "  "); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/prompts.json", text.String())

		var answer struct {
			Data struct{ Targets []map[string]any }
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatal(err)
		}
		several, single := answer.Data.Targets[0], answer.Data.Targets[1]
		prompt, isObject := single["prompts"].([]any)[0].(map[string]any)
		if !isObject {
			t.Fatalf("prompts: %v", single["prompts"])
		}
		for key, value := range prompt {
			equal(t, key+" of a single prompt", single[key], value)
		}
		missing := slices.DeleteFunc(slices.Sorted(maps.Keys(single)), func(key string) bool {
			_, has := several[key]
			return has
		})
		equal(t, "what a target has only with a single prompt", missing, []string{
			"interval_seconds", "max_tokens", "objectives", "ok_ratio", "ok_results", "outcomes", "prompt", "prompt_tokens",
			"quantiles_seconds", "results", "window_seconds",
		})
	})
}

// TestStateOfATarget holds how the state of a target is made of those of its prompts: which, since when, and what a
// reader is told. Each word is what happens to prompt a, b and c in one second.
func TestStateOfATarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for events, want := range map[string]string{
			"...":                 "waiting; waiting since 0 s",
			"u.. .u. ..u":         "ok; ok since 3 s (start)",
			"u.. .x. ..u":         "1 of 3 failing: overloaded; b failing since 2 s (start); b: HTTP 503",
			"u.. .u.":             "1 of 3 waiting; c waiting since 0 s",
			"uuu xu. .u. xu. .xu": "2 of 3 failing: overloaded; a, b failing since 2 s; a, b: HTTP 503",
			"uuu x.. .x. ..x":     "failing: overloaded; failing since 4 s, last ok 1 s; HTTP 503",
			"uuu x.. .r. ..x":     "failing; failing since 4 s, last ok 1 s; a, c: HTTP 503; b: HTTP 401",
			"xxx u.. .u. ..u":     "ok; ok since 4 s",
		} {
			b := newTestBoard()
			began := time.Now()
			setPrompts(b, "t", "a", "b", "c")
			for word := range strings.FieldsSeq(events) {
				time.Sleep(time.Second)
				for i, letter := range word {
					r := map[rune]*probe.Result{
						'u': success("t", ms), 'x': broken("t", probe.Overloaded, "HTTP 503"),
						'r': broken("t", probe.Unauthorized, "HTTP 401"),
					}[letter]
					if r != nil {
						b.Record(asking(r, string(rune('a'+i))))
					}
				}
			}
			view := b.targets()[0]
			got := fmt.Sprintf("%s; %s since %.0f s", view.Chip(), view.InState(), view.Since.Sub(began).Seconds())
			if view.SinceStart {
				got += " (start)"
			}
			if view.IsDown() && !view.LastOK.IsZero() {
				got += fmt.Sprintf(", last ok %.0f s", view.LastOK.Sub(began).Seconds())
			}
			equal(t, events, strings.Join(append([]string{got}, view.Why()...), "; "), want)
		}
	})
}

// TestSelectionOfPrompts holds which targets and prompts a reader gets, and in which order: the highest median of a
// prompt counts, and a target of which all prompts fail stands before one of which some do.
func TestSelectionOfPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := promptsBoard()
		setPrompts(b, "dead", "short", "rag")
		b.Record(asking(broken("dead", probe.Connect, "refused"), "short"))
		b.Record(asking(broken("dead", probe.Connect, "refused"), "rag"))
		for path, want := range map[string]string{
			"/":                         "dead qwen solo",
			"/?sort=ttft":               "qwen solo dead",
			"/?prompt=short&sort=ttft":  "solo qwen · short dead · short",
			"/?prompt=needle":           "qwen · needle",
			"/?prompt=nobody":           "",
			"/?q=needle":                "qwen",
			"/?q=stalled":               "qwen",
			"/?target=qwen&prompt=warm": "qwen · warm",
			"/?prompt=rag&state=ok":     "",
		} {
			equal(t, path, shownTargets(get(t, b, path).Body.String()), want)
		}
		for n := range maxCards {
			setPrompts(b, fmt.Sprint(n), "short")
		}
		body := strings.Join(strings.Fields(get(t, b, "/?prompt=warm").Body.String()), " ")
		want := `<option value="needle">needle</option><option value="rag">rag</option>` +
			`<option value="short">short</option><option value="warm" selected>warm</option></select>`
		equal(t, "the prompts to choose from", strings.Contains(body, want), true)
	})
}

// TestManyPrompts holds that few targets with many prompts are a table: the page is fetched every two seconds.
func TestManyPrompts(t *testing.T) {
	var names []string
	for n := range maxCardPrompts / 2 {
		names = append(names, fmt.Sprint(n))
	}
	b := newTestBoard()
	setPrompts(b, "a", names...)
	setPrompts(b, "b", names...)
	equal(t, "cards", strings.Count(get(t, b, "/").Body.String(), "<article"), 2)
	setPrompts(b, "b", append(names, "one more")...)
	equal(t, "rows", strings.Count(get(t, b, "/").Body.String(), "<tbody data-target"), 2)
	equal(t, "a chosen target is a card", strings.Count(get(t, b, "/?target=b").Body.String(), "<article"), 1)
}

// TestLinksOfPrompts holds the addresses that name a prompt, on the page of its probe and elsewhere.
func TestLinksOfPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := promptsBoard()
		target := b.targets()[0]
		const page, board = "https://prober.example.com/?", "https://grafana.example.com/d/prober-target?"
		equal(t, "of a target", []string{target.PageURL, target.DashboardURL},
			[]string{page + "target=qwen", board + "var-target=qwen"})
		rag := target.Prompts[1]
		equal(t, "of a prompt", []string{rag.PageURL, rag.DashboardURL},
			[]string{page + "prompt=rag&target=qwen", board + "var-prompt=rag&var-target=qwen"})
		body := html.UnescapeString(get(t, b, "/probes/"+rag.Last.TraceID).Body.String())
		equal(t, "title of a probe", between(body, "<title>", "</title>"), "qwen · rag: stalled · prober")
		equal(t, "its heading", between(body, "<h1>", "</a>"), `<a href="../?prompt=rag&target=qwen"><bdi>qwen · rag</bdi>`)
		chosen := html.UnescapeString(get(t, b, "/?target=qwen&prompt=rag").Body.String())
		equal(t, "way back", strings.Contains(chosen, `<a href="?target=qwen">all prompts`), true)
	})
}

// TestPromptsOfARejectedTarget holds that a problem of all prompts is said once.
func TestPromptsOfARejectedTarget(t *testing.T) {
	b := newTestBoard()
	setPrompts(b, "t", "a", "b")
	b.RejectTarget("t", nil, usage.Problems{{Place: "f.yaml:7", Text: "is wrong"}})
	target := b.targets()[0]
	equal(t, "state", append([]string{target.Chip()}, target.Why()...), []string{"rejected", "f.yaml:7: is wrong"})
	equal(t, "on the page", strings.Count(get(t, b, "/").Body.String(), "is wrong"), 1)
}

// TestPromptsShareTheMemory holds that the results of all prompts together are bounded, however they are spread over
// targets.
func TestPromptsShareTheMemory(t *testing.T) {
	b := newTestBoard()
	const targets, prompts = 50, 4
	for n := range targets {
		setPrompts(b, fmt.Sprint(n), "a", "b", "c", "d")
	}
	for range 2 * ringSize {
		b.Record(asking(success("0", ms), "b"))
	}
	v := b.views()[1]
	equal(t, "prompt", v.Title(), "0 · b")
	equal(t, "its last results", len(v.history.ring), allResults/(targets*prompts))
}
