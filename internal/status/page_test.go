package status

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

// everyState returns a board with a target in each state; two are of one group.
func everyState() *Board {
	began := time.Now()
	b := NewBoard(began.Add(-5*time.Hour), "v1.2.3", "eu-1", Links{
		External: "https://prober.example.com", Grafana: "https://grafana.example.com",
	})
	b.SetReady(true)
	b.SetRejection(&Rejection{began, "keeping the previous one", "PROBER_QPS: must be above 0\nPROBER_API: unknown"})
	set := func(name, group string, change func(*probe.Description)) {
		target := probe.Description{
			Name: name, Group: group, Model: "llama", API: "openai-chat", URL: "http://one:8000/v1", Prompt: "cold",
			PromptTokens: 21000, MaxTokens: 100, Interval: 10 * time.Second, TokensPerDay: 182304000,
		}
		change(&target)
		b.Set(target)
	}
	objectives := []probe.Objective{
		{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.99},
		{Name: "quick", Signal: probe.SignalTTFT, Limit: 700 * ms, Goal: 0.9},
	}
	set("one", "ab", func(d *probe.Description) { d.Objectives = objectives })
	set("lone", "lone", func(*probe.Description) {})
	set("two", "ab", func(d *probe.Description) {
		d.Labels = map[string]string{"team": "search", "note": `a, "b"`}
		d.Objectives = objectives
		d.Server, d.Version = "vllm", "0.11"
		d.Abilities = []server.Ability{{Name: "cache_salt", Claim: wire.Always, Shown: true}}
		d.Notes = []string{"rejects cache_salt: asked without it"}
		d.InFlight = func() (int, time.Time) { return 1, time.Now().Add(-2 * time.Second) }
	})
	set("hung", "", func(d *probe.Description) { d.InFlight = func() (int, time.Time) { return 2, began } })
	set("worse", "", func(d *probe.Description) {
		d.Labels = map[string]string{"team": "search", "tier": ""}
		d.Objectives = objectives
	})
	b.RejectTarget("bad", nil, usage.Problems{
		{Place: "targets.yaml:7: qps=\"fast\"", Text: "not a number", Hint: "want probes per second, for example 0.1"},
		{Place: "targets.yaml:8: api_key_file=\"k\"", Text: "is empty"},
	})

	set("off", "", func(d *probe.Description) { d.Objectives = objectives })
	b.Record(success("off", 300*ms, 400*ms))
	for range 11 {
		b.Record(stalled("off"))
	}
	set("off", "", func(d *probe.Description) {
		d.Objectives, d.Disabled, d.TokensPerDay = objectives, true, 0
		d.Notes = []string{"disabled in the configuration (enabled: off): no probes start"}
	})

	set("slower", "", func(*probe.Description) {})
	for n := range 31 {
		ttft := 100 * ms
		if n >= 20 {
			ttft = 300 * ms
		}
		b.Record(success("slower", ttft, ttft+10*ms))
	}

	b.Record(phased("one"))
	time.Sleep(10 * time.Second)
	b.Record(success("one", 200*ms, 300*ms, 400*ms, 9*time.Second)) // beyond the axis
	b.Record(late("one", 300*ms, 400*ms, 500*ms, 600*ms, 700*ms, 800*ms))
	b.Record(success("one", 300*ms, 400*ms, 400*ms, 500*ms, 1100*ms)) // a silence before the last token

	b.Record(success("two", 100*ms, 200*ms))
	refused := broken("two", probe.Unauthorized, "HTTP 401: bad key")
	refused.Status = 401
	b.Record(refused)
	b.Skipped("two", "cold", "overlap")
	b.Skipped("two", "cold", "overlap")
	b.Skipped("two", "cold", "budget")

	b.Record(success("worse", 100*ms, 200*ms))
	for range 9 {
		b.Record(stalled("worse"))
	}
	b.Record(success("worse", 100*ms, 200*ms))
	time.Sleep(90 * time.Second)
	return b
}

// between returns what stands in a text between two others.
func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}

// textOf returns what a reader reads on a page: a line for each paragraph, with the cells of tables apart. Pictures are
// left out.
func textOf(page string) string {
	for _, replace := range []struct{ pattern, by string }{
		{`(?s)<(style|script|svg|title)\b.*?</(style|script|svg|title)>`, ""},
		{`\s+`, " "},
		{`</t[dh]> ?`, "  |  "},
		{`<(br|/?article|/?section|/?tr|/?p|/?li|/?h[123]|/?div|/?dl|/?header|/?nav|/?figure|/?form)\b[^>]*>`, "\n"},
		{`</?(caption|thead|summary|figcaption|dt|table|details|span|span class="reason")>`, "\n"},
		{`</(select|dd)>`, "\n"},
		{`<[^>]*>`, ""},
		{`(  \|  )? *\n[ \n]*`, "\n"},
	} {
		page = regexp.MustCompile(replace.pattern).ReplaceAllString(page, replace.by)
	}
	return strings.TrimSpace(html.UnescapeString(page)) + "\n"
}

// TestPage holds what stands on the page, with targets in every state.
func TestPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		golden.Equal(t, "testdata/page.txt", textOf(get(t, everyState(), "/").Body.String()))
	})
}

// TestShareOfRefused holds that no objective is shown without the share of refused probes, and whether they count.
func TestShareOfRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			areBad bool
			want   string
		}{
			{false, `<span class="missed">3 of 4 probes refused (75%)</span>, not counted</caption>`},
			{true, `<span class="missed">3 of 4 probes refused (75%)</span></caption>`},
		} {
			b := boardWith(probe.Objective{
				Name: "availability", Signal: probe.SignalAvailability, Goal: 0.9, RefusalsAreBad: test.areBad,
			})
			for range 3 {
				b.Record(broken("a", probe.RateLimited, "HTTP 429"))
			}
			b.Record(success("a", 100*ms, 200*ms))
			time.Sleep(time.Minute)
			got := between(get(t, b, "/").Body.String(), "objectives, last 1 min: ", "\n")
			equal(t, "caption", got, test.want)
		}
	})
}

// TestManyTargets holds that more targets than fit as cards are rows, and that a reader can choose a few of them.
func TestManyTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := everyState()
		for _, name := range []string{"more-0", "more-1", "more-2", "more-3"} {
			b.Set(probe.Description{Prompt: "cold", Name: name})
			b.Record(success(name, 100*ms, 200*ms))
		}
		page := get(t, b, "/").Body.String()
		golden.Equal(t, "testdata/fleet.txt", textOf(page))

		shown := regexp.MustCompile(`data-target="([^"]+)" data-state="(\w+)"`)
		for path, want := range map[string]string{
			"/": "two failing, hung hanging, bad rejected, worse missing_objective, slower slow, lone waiting, one ok, " +
				"more-0 ok, more-1 ok, more-2 ok, more-3 ok, off disabled",
			"/?state=failing":       "two failing",
			"/?state=disabled":      "off disabled",
			"/?target=more-1":       "more-1 ok",
			"/?state=ok&target=two": "no target matches",
		} {
			body := get(t, b, path).Body.String()
			var targets []string
			for _, match := range shown.FindAllStringSubmatch(body, -1) {
				targets = append(targets, match[1]+" "+match[2])
			}
			if strings.Contains(body, "no target matches") {
				targets = append(targets, "no target matches")
			}
			equal(t, path, strings.Join(targets, ", "), want)
		}
		equal(t, "a chosen target is a card", strings.Contains(get(t, b, "/?target=one").Body.String(), "<article"), true)
	})
}

// TestTargets holds the JSON of a target that has everything, and of one that has nothing.
func TestTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := everyState()
		for _, name := range []string{"one", "lone", "hung", "slower"} {
			b.RemoveTarget(name)
		}
		var text bytes.Buffer
		if err := json.Indent(&text, get(t, b, "/api/v1/targets").Body.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/targets.json", text.String())
	})
}

func TestPageEscapesHostileText(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	b := NewBoard(time.Now(), hostile, hostile, Links{})
	b.Set(probe.Description{
		Name: hostile, Group: hostile, Model: hostile, API: hostile, URL: "javascript:" + hostile, Prompt: hostile,
		Notes: []string{hostile}, Objectives: []probe.Objective{{Name: hostile, Signal: hostile, Goal: 1}},
	})
	b.Set(probe.Description{Prompt: "cold", Name: "b", Group: hostile})
	b.RejectTarget(hostile+"2", nil, usage.Problems{{Place: hostile, Text: hostile, Hint: hostile}})
	b.Skipped(hostile, hostile, hostile)
	r := broken(hostile, probe.Rejected, hostile)
	r.Prompt = hostile
	b.Record(r)
	good := success(hostile, ms, 2*ms)
	good.Prompt, good.Finish = hostile, hostile
	b.Record(good)

	for path, scripts := range map[string]int{"/": 1, "/probes/" + r.TraceID: 0, "/probes/" + good.TraceID: 0} {
		body := get(t, b, path).Body.String()
		if n := strings.Count(body, "<script"); n != scripts {
			t.Errorf("%s: %d scripts, want our own only", path, n)
		}
		if strings.Contains(body, "<img") {
			t.Errorf("%s: an image slipped into the page", path)
		}
		if !strings.Contains(body, "&lt;script&gt;alert(1)") {
			t.Errorf("%s: the text itself is not shown", path)
		}
	}
}

// TestPageStandsAlone holds that nothing is loaded from elsewhere, and that links work below a proxy's path. The policy
// names style and script by their hashes: were the template engine to change a byte of them, a browser would show a
// bare page.
func TestPageStandsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := get(t, everyState(), "/")
		body := w.Body.String()
		for _, match := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			link := match[1]
			isLink := strings.HasPrefix(link, runbooks) || strings.HasPrefix(link, "https://grafana.example.com/d/")
			isElsewhere := strings.Contains(link, "://") && !strings.HasPrefix(link, "data:") && !isLink
			if isElsewhere || strings.HasPrefix(link, "/") {
				t.Errorf("the page refers to %s", link)
			}
		}
		if regexp.MustCompile(`\sstyle="`).MatchString(body) {
			t.Error("the page has an inline style, which the policy forbids")
		}
		equal(t, "content type", w.Header().Get("Content-Type"), "text/html; charset=utf-8")
		policy := w.Header().Get("Content-Security-Policy")
		equal(t, "policy", strings.Split(policy, "; "), []string{
			"default-src 'none'", "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'self'",
			"frame-ancestors 'none'",
			"style-src " + hashOf(between(body, "<style>", "</style>")),
			"script-src " + hashOf(between(body, "<script>", "</script>")),
		})
	})
}

// TestLegend holds that the page explains the colours of bars only where there are bars.
func TestLegend(t *testing.T) {
	for name, test := range map[string]struct {
		board *Board
		want  bool
	}{
		"a card with bars": {boardOf(success("a", ms)), true},
		"no result yet":    {boardOf(), false},
		"a table":          {newTestBoard(strings.Split("abcdefghi", "")...), false},
	} {
		equal(t, name, strings.Contains(get(t, test.board, "/").Body.String(), `class="legend"`), test.want)
	}
}

// TestEveryColumnHasAHeader holds it for every table of the pages.
func TestEveryColumnHasAHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := stalled("one")
		b := everyState()
		b.Record(failed)
		pages := get(t, b, "/").Body.String() + get(t, b, "/probes/"+failed.TraceID).Body.String() +
			get(t, fleet(), "/").Body.String()
		tables := strings.Count(pages, "<table")
		equal(t, "tables with a head", strings.Count(pages, "<thead><tr>"), tables)
		if empty := regexp.MustCompile(`<th[^>]*></th>`).FindString(pages); empty != "" || tables < 8 {
			t.Errorf("an empty header %q among %d tables", empty, tables)
		}
	})
}

func TestOnlyTheWholePageIsRefreshedWithoutAScript(t *testing.T) {
	b := newTestBoard("a")
	for path, want := range map[string]bool{"/": true, "/?target=a": false} {
		equal(t, path, strings.Contains(get(t, b, path).Body.String(), `<noscript><meta http-equiv="refresh"`), want)
	}
}
