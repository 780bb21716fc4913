package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/golden"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

// everyState is a board with a target in each state; two are of one group.
func everyState() *Board {
	began := time.Now()
	b := NewBoard(began.Add(-5*time.Hour), "v1.2.3")
	b.SetReady(true)
	b.SetRejection(&Rejection{began, "keeping the previous one", "PROBER_QPS: must be above 0\nPROBER_API: unknown"})
	set := func(name, group string, change func(*probe.Description)) {
		target := probe.Description{
			Name: name, Group: group, Model: "llama", API: "openai-chat", URL: "http://one:8000/v1", Prompt: "cold",
			PromptTokens: 21000, MaxTokens: 100, Interval: 10 * time.Second, TokensPerDay: 182304000,
			Objectives: []probe.Objective{
				{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.99},
				{Name: "quick", Signal: probe.SignalTTFT, Limit: 250 * ms, Goal: 0.9},
			},
		}
		change(&target)
		b.Set(target)
	}
	set("one", "ab", func(d *probe.Description) {
		d.Server, d.Version, d.Abilities = "vllm", "0.11", []probe.Ability{{Name: "cache_salt", Claim: wire.Always, Shown: true}}
	})
	set("lone", "lone", func(d *probe.Description) { d.Objectives = nil })
	set("two", "ab", func(d *probe.Description) { d.Notes = []string{"rejects cache_salt: asked without it"} })
	set("hung", "", func(d *probe.Description) { d.InFlight = func() (int, time.Time) { return 2, began } })
	b.RejectTarget("bad", usage.Problems{
		{Place: "targets.yaml:7: qps=\"fast\"", Text: "not a number", Hint: "want probes per second, for example 0.1"},
		{Place: "targets.yaml:8: api_key_file=\"k\"", Text: "is empty"},
	})

	b.Record(success("one", 200*ms, 300*ms, 400*ms, 2*time.Second))
	time.Sleep(10 * time.Second)
	b.Record(success("one", 300*ms, 400*ms, 400*ms, 500*ms, 600*ms))
	b.Record(success("two", 100*ms, 200*ms))
	refused := broken("two", probe.Unauthorized, "HTTP 401: bad key")
	refused.Status = 401
	b.Record(refused)
	b.Skipped("two", "overlap")
	b.Skipped("two", "overlap")
	b.Skipped("two", "budget")
	time.Sleep(90 * time.Second)
	return b
}

func TestPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := get(t, everyState(), "/")
		_, text, _ := strings.Cut(w.Body.String(), "</style>")
		text, _, _ = strings.Cut(text, "<script>")
		golden.Equal(t, "testdata/page.html", text)
	})
}

// TestManyTargets are rows, the most urgent first, and cards once a reader chose a few.
func TestManyTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := everyState()
		for i := range 5 {
			b.Record(success("one", 200*ms, 300*ms, 400*ms))
			name := fmt.Sprintf("more-%d", i)
			b.Set(probe.Description{Name: name})
			b.Record(success(name, 100*ms, 200*ms))
		}
		_, rows, _ := strings.Cut(get(t, b, "/").Body.String(), "<main>")
		rows, _, _ = strings.Cut(rows, "</main>")
		golden.Equal(t, "testdata/rows.html", rows)
		for path, want := range map[string]string{
			"/": "two failing, hung hanging, bad rejected, lone waiting, one ok, more-0 ok, more-1 ok, more-2 ok, more-3 ok, more-4 ok", "/?state=failing": "two failing",
			"/?state=rejected":      "bad rejected",
			"/?state=ok&target=two": "", "/?target=more-1": "more-1 ok",
		} {
			var shown []string
			body := get(t, b, path).Body.String()
			for _, m := range regexp.MustCompile(`data-target="([^"]+)" data-state="(\w+)"`).FindAllStringSubmatch(body, -1) {
				shown = append(shown, m[1]+" "+m[2])
			}
			equal(t, path, strings.Join(shown, ", "), want)
			equal(t, path+" has cards", strings.Contains(body, "<article"), path != "/" && want != "")
			equal(t, path+" says that it is empty", strings.Contains(body, "no target matches"), want == "")
			equal(t, path+" is refreshed without a script", strings.Contains(body, "<noscript>"), !strings.Contains(path, "target="))
		}
	})
}

func TestTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		if err := json.Indent(&text, get(t, everyState(), "/api/v1/targets").Body.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/targets.json", text.String())
	})
}

func TestPageEscapesHostileText(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	b := NewBoard(time.Now(), hostile)
	b.Set(probe.Description{
		Name: hostile, Group: hostile, Model: hostile, API: hostile, URL: "javascript:" + hostile, Prompt: hostile,
		Notes: []string{hostile}, Objectives: []probe.Objective{{Name: hostile, Signal: hostile, Goal: 1}},
	})
	b.Set(probe.Description{Name: "b", Group: hostile})
	b.RejectTarget(hostile+"2", usage.Problems{{Place: hostile, Text: hostile, Hint: hostile}})
	b.Skipped(hostile, hostile)
	r := broken(hostile, probe.Rejected, hostile)
	b.Record(r)
	good := success(hostile, ms, 2*ms)
	good.Finish = hostile
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

// Nothing may be loaded from elsewhere, and links work below a proxy's path. The policy names style and script by their
// hashes: were the template engine to change a byte of them, a browser would show a bare page.
func TestPageStandsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := get(t, everyState(), "/")
		body, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			if strings.HasPrefix(m[1], "/") || strings.Contains(m[1], "://") && !strings.HasPrefix(m[1], "data:") {
				t.Errorf("the page refers to %s", m[1])
			}
		}
		for what, ok := range map[string]bool{
			"hash of the style":         strings.Contains(policy, "style-src "+hashOf(body, "<style>", "</style>")),
			"hash of the script":        strings.Contains(policy, "script-src "+hashOf(body, "<script>", "</script>")),
			"policy without unsafe":     !strings.Contains(policy, "unsafe"),
			"no inline style":           !regexp.MustCompile(`\sstyle="`).MatchString(body),
			"content type with charset": w.Header().Get("Content-Type") == "text/html; charset=utf-8",
		} {
			equal(t, what, ok, true)
		}
	})
}
