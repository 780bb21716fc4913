package status

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

var update = flag.Bool("update", false, "write golden files")

// golden compares a text with a file in testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// everyState is a board with a target in each state; two are of one group.
func everyState() *Board {
	b := NewBoard(time.Now().Add(-5*time.Hour), "v1.2.3", func(r *probe.Result) string { return "what to do about " + string(r.Outcome) })
	b.SetReady(true)
	target := probe.Description{
		Group: "ab", Model: "llama", API: "openai-chat", URL: "http://one:8000/v1", Prompt: "cold",
		PromptTokens: 21000, MaxTokens: 100, Interval: 10 * time.Second, TokensPerDay: 182304000,
		Objectives: []probe.Objective{
			{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.99},
			{Name: "quick", Signal: probe.SignalTTFT, Limit: 250 * ms, Goal: 0.9},
		},
	}
	named := func(name, group string) probe.Description {
		target.Name, target.Group = name, group
		return target
	}
	b.Set(named("one", "ab"))
	b.Set(named("lone", "lone"))
	two := named("two", "ab")
	two.Notes = []string{"rejects cache_salt: asked without it"}
	b.Set(two)
	hung, began := named("hung", ""), time.Now()
	hung.InFlight = func() (int, time.Time) { return 2, began }
	b.Set(hung)

	b.Record(success("one", 200*ms, 300*ms, 400*ms, 2*time.Second))
	time.Sleep(10 * time.Second)
	b.Record(success("one", 300*ms, 400*ms, 400*ms, 500*ms, 600*ms))
	b.Record(success("two", 100*ms, 200*ms))
	refused := broken("two", probe.Rejected, "HTTP 401: bad key")
	refused.Status = 401
	b.Record(refused)
	b.Skipped("two", "overlap")
	b.Skipped("two", "overlap")
	time.Sleep(90 * time.Second)
	return b
}

func TestPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := get(t, everyState(), "/")
		_, text, _ := strings.Cut(w.Body.String(), "</style>")
		text, _, _ = strings.Cut(text, "<script>")
		golden(t, "page.html", text)
	})
}

func TestTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := get(t, everyState(), "/api/v1/targets")
		golden(t, "targets.json", indented(t, w.Body.Bytes()))
	})
}

func TestPageWithoutTargets(t *testing.T) {
	body := get(t, NewBoard(time.Now(), "v1", nil), "/").Body.String()
	for _, want := range []string{"no target is configured", "not ready", "<title>prober</title>"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

func TestPageEscapesHostileText(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	b := NewBoard(time.Now(), hostile, func(*probe.Result) string { return hostile })
	b.Set(probe.Description{
		Name: hostile, Group: hostile, Model: hostile, API: hostile, URL: "javascript:" + hostile, Prompt: hostile,
		Notes: []string{hostile}, Objectives: []probe.Objective{{Name: hostile, Signal: hostile, Goal: 1}},
	})
	b.Set(probe.Description{Name: "b", Group: hostile})
	b.Skipped(hostile, hostile)
	r := broken(hostile, probe.Rejected, hostile)
	b.Record(r)
	good := success(hostile, ms, 2*ms)
	good.Finish = hostile
	b.Record(good)

	body := get(t, b, "/").Body.String()
	if n := strings.Count(body, "<script"); n != 1 {
		t.Errorf("%d scripts in the page, want our own only", n)
	}
	if strings.Contains(body, "<img") {
		t.Error("an image slipped into the page")
	}
	if !strings.Contains(body, "&lt;script&gt;alert(1)") {
		t.Error("the text itself is not shown")
	}
}

// The policy names style and script by their hashes: were the template engine to
// change a byte of them, a browser would show a bare page.
func TestPolicyFitsThePage(t *testing.T) {
	w := get(t, newTestBoard("a"), "/")
	body, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
	for _, want := range []string{
		"style-src " + hashOf(body, "<style>", "</style>"),
		"script-src " + hashOf(body, "<script>", "</script>"),
	} {
		if !strings.Contains(policy, want) {
			t.Errorf("no %s in the policy %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is unsafe: %s", policy)
	}
}

// Nothing may be loaded from elsewhere, and links work below a proxy's path.
func TestPageStandsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := get(t, everyState(), "/").Body.String()
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			if strings.HasPrefix(m[1], "/") || strings.Contains(m[1], "://") && !strings.HasPrefix(m[1], "data:") {
				t.Errorf("the page refers to %s", m[1])
			}
		}
		if regexp.MustCompile(`\sstyle="`).MatchString(body) {
			t.Error("an inline style, which the policy forbids")
		}
		if !strings.Contains(body, `<noscript><meta http-equiv="refresh"`) {
			t.Error("the page does not refresh itself without a script")
		}
	})
}

func TestPageShowsNoSecondTruth(t *testing.T) {
	b := newTestBoard("a")
	b.Record(success("a", 250*ms, 260*ms, 270*ms))
	body := get(t, b, "/").Body.String()
	for _, want := range []string{
		`<tr data-metric="ttft" data-p50="0.25" data-p95="0.25" data-n="1">`,
		`<tr data-metric="tpot" data-p50="0.01" data-p95="0.01" data-n="1">`,
		`<tr data-metric="itl" data-p50="0.01" data-p95="0.01" data-n="2">`,
		`<tr data-metric="e2el" data-p50="0.27" data-p95="0.27" data-n="1">`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in the page", want)
		}
	}
}

func TestPageIsHTML(t *testing.T) {
	w := get(t, newTestBoard(), "/")
	if got := w.Header().Get("Content-Type"); got != "text/html; charset=utf-8" || w.Code != http.StatusOK {
		t.Errorf("status %d, type %s", w.Code, got)
	}
	if !bytes.HasPrefix(w.Body.Bytes(), []byte("<!doctype html>")) {
		t.Errorf("the page begins with %.40q", w.Body)
	}
}
