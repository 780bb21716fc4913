package observe

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/testing/exposition"
	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

// A shownTarget is what the page shows of a target, as its JSON says it.
type shownTarget struct {
	Name         string
	State        string
	TokensPerDay int `json:"tokens_per_day"`
	Notes        []string
}

// shown returns all targets on the page.
func shown(t *testing.T, o *Observers) []shownTarget {
	t.Helper()
	mux := http.NewServeMux()
	o.Board.Register(mux)
	var answer struct {
		Data struct{ Targets []shownTarget }
	}
	err := json.Unmarshal([]byte(exposition.Serve(mux, "/api/v1/targets")), &answer)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Data.Targets
}

// TestThePageShowsThatAServerHasChanged holds that the type, the version and the model that a server had before are
// notes on the page, until the next change. What was not known before, and what is not known now, is no change. Another
// URL is another server, about which there is no note, as is one that comes after the target was forgotten.
func TestThePageShowsThatAServerHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObservers(t)
		for _, step := range []struct {
			url, server, model, want string
			forgotten                bool // before
		}{
			{url: "http://a", server: "", model: "", want: ""},
			{url: "http://a", server: "vllm", model: "llama", want: ""},
			{url: "http://a", server: "vllm", model: "qwen", want: "qwen since 2000-01-01 00:02 UTC, before: llama"},
			{url: "http://a", server: "vllm", model: "qwen", want: "qwen since 2000-01-01 00:02 UTC, before: llama"},
			{url: "http://a", server: "sglang", model: "qwen", want: "sglang since 2000-01-01 00:04 UTC, before: vllm"},
			{url: "http://a", server: "", model: "qwen", want: "sglang since 2000-01-01 00:04 UTC, before: vllm"},
			{url: "http://a", server: "sglang", model: "qwen", want: "sglang since 2000-01-01 00:04 UTC, before: vllm"},
			{url: "http://a", server: "vllm", model: "gemma",
				want: "vllm since 2000-01-01 00:07 UTC, before: sglang; gemma since 2000-01-01 00:07 UTC, before: qwen"},
			{url: "http://b", server: "vllm", model: "llama", want: ""},
			{url: "http://b", server: "sglang", model: "llama", want: "", forgotten: true},
		} {
			target := newTarget(config.Target{Name: "a", Group: "a", URL: step.url},
				probe.Target{Server: wire.Server{Name: step.server}}, step.model)
			if step.forgotten {
				o.Forget("a", "cold")
			}
			o.NewRecorder([]Target{target}, PanicLog{Log: zap.NewNop()})
			got := strings.Join(shown(t, o)[0].Notes, "; ")
			if got != step.want {
				t.Errorf("server %q with model %q: notes %q, want %q", step.server, step.model, got, step.want)
			}
			time.Sleep(time.Minute)
		}
	})
}

func TestADisabledTargetCostsNothing(t *testing.T) {
	o := newObservers(t)
	target := newTarget(config.Target{Name: "a"}, probe.Target{}, "")
	target.TokensPerDay = 1000
	recorder := o.NewRecorder([]Target{target}, PanicLog{Log: zap.NewNop()})
	for _, disabled := range []bool{false, true, false} {
		target.Member.Disabled.Store(disabled)
		recorder.Describe()
		want := 1000
		if disabled {
			want = 0
		}
		if got := shown(t, o)[0].TokensPerDay; got != want {
			t.Errorf("disabled %t: %d tokens a day, want %d", disabled, got, want)
		}
	}
}

// TestChangesOfAServer holds that what becomes known of a server is no change, and that a change is one even if the
// server said nothing for a while in between.
func TestChangesOfAServer(t *testing.T) {
	var known identity
	for i, step := range []struct {
		says identity
		want string // what it was before, and what it is now
	}{
		{identity{server: "vllm"}, ""},
		{identity{server: "vllm", version: "0.9", model: "llama"}, ""},
		{identity{server: "vllm", model: "llama"}, ""},
		{identity{}, ""},
		{identity{server: "vllm", version: "0.10", model: "qwen"}, "vllm 0.9 > vllm 0.10, llama > qwen"},
		{identity{server: "vllm", version: "0.10", model: "qwen"}, ""},
		{identity{server: "sglang"}, "vllm 0.10 > sglang"},
		{identity{server: "sglang", version: "0.5"}, ""},
		{identity{server: "vllm", version: "0.5"}, "sglang 0.5 > vllm 0.5"},
	} {
		now := step.says.or(known)
		var got []string
		for _, c := range changesOfServer(known, now) {
			got = append(got, c.before+" > "+c.now)
		}
		if strings.Join(got, ", ") != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
		known = now
	}
}

// TestWhatIsLoggedOfATarget holds that what is wrong with a target is logged when it begins, and not again while it
// lasts. That a target is disabled from the start is nothing new.
func TestWhatIsLoggedOfATarget(t *testing.T) {
	disabled := probe.Description{Disabled: true}
	var before description
	for _, step := range []struct {
		now  description
		want string
	}{
		{description{target: disabled, misfit: "the prompt is too long"}, "the prompt is too long"},
		{description{misfit: "the prompt is too long"}, "target is enabled: it is probed again"},
		{description{misfit: "the prompt is too long", leavesOpen: true}, "the server " + report.LeavesOpen},
		{description{leavesOpen: true}, ""},
		{description{target: disabled}, "target is disabled: it is no longer probed"},
	} {
		core, logs := observer.New(zapcore.DebugLevel)
		o := &Observers{log: zap.New(core)}
		step.now.member = &probe.Member{}
		o.logDifferences(before, step.now, nil)
		var got []string
		for _, entry := range logs.All() {
			got = append(got, entry.Message)
		}
		if strings.Join(got, "; ") != step.want {
			t.Errorf("logged %q, want %q", got, step.want)
		}
		before = step.now
	}
}

// TestTargetsThatWereRejected holds that the page forgets them once they are no longer configured, and keeps those that
// are probed by then.
func TestTargetsThatWereRejected(t *testing.T) {
	o := newObservers(t)
	problems := usage.Problems{{Text: "missing"}}
	isProbed := func(target string) bool { return target == "mended" }
	o.Reject([]config.Rejected{{Name: "mended", Problems: problems}, {Name: "removed", Problems: problems}}, isProbed)
	mended := newTarget(config.Target{Name: "mended"}, probe.Target{}, "")
	o.NewRecorder([]Target{mended}, PanicLog{Log: zap.NewNop()})
	o.Reject(nil, isProbed)
	got := shown(t, o)
	if len(got) != 1 || got[0].Name != "mended" || got[0].State == "rejected" {
		t.Errorf("the page shows %+v, want the target that is probed", got)
	}
}
