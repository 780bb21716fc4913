package observe

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/telemetry"
	"github.com/llm-prober/prober/internal/testing/exposition"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// answer returns a success with three tokens of one frame each: the first after ttft, the others 10 ms apart.
func answer(ttft time.Duration) *probe.Result {
	r := &probe.Result{
		Target: "a", Prompt: "cold", Model: "llama", Server: "vllm", Outcome: probe.OK, Status: 200, Finish: "length",
		Start: time.Now(), Round: 7, TraceID: "abc", RequestID: "req-1", ResponseID: "chatcmpl-1",
		Cache: probe.CacheCold, Source: probe.FromUsage,
		Wording: probe.Wording{Characters: 12, Run: 0.5, Distinct: 0.75, Replaced: 0.25},
		Usage:   wire.Usage{Prompt: wire.Tokens(100), Cached: wire.Tokens(16), Output: wire.Tokens(3)},
	}
	for i := range 3 {
		r.Elapsed = ttft + time.Duration(i)*10*time.Millisecond
		r.Timeline.Frames = append(r.Timeline.Frames, timing.Frame{At: r.Elapsed, Read: uint32(i + 1), N: 1})
	}
	r.Timeline.FinishedAt = r.Elapsed
	r.Timeline.Phases.Wrote = time.Millisecond
	return r
}

func failure() *probe.Result {
	return &probe.Result{
		Target: "a", Prompt: "cold", Outcome: probe.Overloaded, Reason: probe.ReasonServerOverloaded,
		Elapsed: time.Millisecond, Err: errors.New("HTTP 503"), Status: 503, Warnings: []probe.Warning{{Kind: "odd"}},
	}
}

// TestWhichProbesAreLogged holds at which level a probe has an entry with its fields, by LOG_PROBES. On a terminal each
// probe is a short line besides, whatever the setting.
func TestWhichProbesAreLogged(t *testing.T) {
	for _, test := range []struct {
		setting string
		isLive  bool
		want    string
	}{
		{"notable", false, "debug probe|info probe|warn probe"},
		{"all", false, "info probe|info probe|warn probe"},
		{"failed", false, "debug probe|debug probe|warn probe"},
		{"notable", true, "info a ok after 1.02 s, TTFT 1.00 s, TPOT 10.0 ms|debug probe|" +
			"info a ok after 1.02 s, TTFT 1.00 s, TPOT 10.0 ms: slow ttft, missed tpot|debug probe|" +
			"warn a overloaded after 1.00 ms: HTTP 503|debug probe"},
	} {
		core, logs := observer.New(zapcore.DebugLevel)
		o := &Observers{log: zap.New(core), Live: test.isLive, logProbes: test.setting}
		o.logResult(answer(time.Second), "a", "", nil)
		o.logResult(answer(time.Second), "a", "", []string{"slow_ttft", "missed_tpot"})
		o.logResult(failure(), "a", "", []string{"overloaded"})
		var got []string
		for _, entry := range logs.All() {
			got = append(got, entry.Level.String()+" "+entry.Message)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "|")); diff != "" {
			t.Errorf("%s, live %t: logged (-want +got):\n%s", test.setting, test.isLive, diff)
		}
	}
}

func TestFieldsOfAProbe(t *testing.T) {
	for _, test := range []struct {
		result *probe.Result
		want   map[string]any
	}{
		{answer(time.Second), map[string]any{
			"target": "a", "outcome": "ok", "notable": []any{"slow_ttft"}, "round": uint64(7), "http_status": int64(200),
			"elapsed": 1020 * time.Millisecond, "ttft": time.Second, "server_ttft": 999 * time.Millisecond,
			"tpot": 10 * time.Millisecond, "itl_p50": 10 * time.Millisecond, "itl_max": 10 * time.Millisecond,
			"max_gap": 10 * time.Millisecond, "e2el": 1020 * time.Millisecond, "token_frames": int64(3),
			"prompt_tokens": int64(100), "cached_tokens": int64(16), "output_tokens": int64(3), "cache": "cold",
			"finish_reason": "length", "prompt": "cold", "model": "llama", "server": "vllm", "server_version": "1.2",
			"answer_repeated": 0.5, "answer_distinct_words": 0.75, "answer_replaced": 0.25,
			"trace_id": "abc", "request_id": "req-1", "response_id": "chatcmpl-1",
		}},
		{failure(), map[string]any{
			"target": "a", "outcome": "overloaded", "notable": []any{"slow_ttft"}, "reason": "server_overloaded",
			"round": uint64(0), "http_status": int64(503), "elapsed": time.Millisecond, "token_frames": int64(0),
			"prompt": "cold", "server_version": "1.2", "trace_id": "", "error": "HTTP 503", "warnings": []any{"odd"},
		}},
	} {
		encoder := zapcore.NewMapObjectEncoder()
		for _, field := range fieldsOf(test.result, "1.2", []string{"slow_ttft"}) {
			if _, isTwice := encoder.Fields[field.Key]; isTwice {
				t.Errorf("a probe that ended as %s has the field %s twice", test.result.Outcome, field.Key)
			}
			field.AddTo(encoder)
		}
		if diff := cmp.Diff(test.want, encoder.Fields); diff != "" {
			t.Errorf("fields of a probe that ended as %s (-want +got):\n%s", test.result.Outcome, diff)
		}
	}
}

// TestPageAndLogAgree holds that both call the same probes notable, for the same reasons, and that the log does so by
// default.
func TestPageAndLogAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.InfoLevel)
		o, err := New(t.Context(), &config.Config{}, telemetry.Build{}, zap.New(core))
		if err != nil {
			t.Fatal(err)
		}
		target := newTarget(config.Target{Name: "a", Objectives: []probe.Objective{
			{Name: "fast", Signal: probe.SignalTTFT, Limit: time.Second, Goal: 0.9},
		}}, probe.Target{}, "llama")
		recorder := o.NewRecorder([]Target{target}, PanicLog{Log: zap.NewNop()})
		record := func(r *probe.Result) {
			time.Sleep(time.Second)
			r.Start = time.Now()
			recorder.Record(r)
		}
		for range 20 {
			record(answer(600 * time.Millisecond))
		}
		record(answer(1100 * time.Millisecond))
		record(answer(1201 * time.Millisecond))
		record(failure())

		var logged []string
		for _, entry := range logs.All() {
			logged = append(logged, wordsOf(entry.ContextMap()["notable"]))
		}
		mux := http.NewServeMux()
		o.Board.Register(mux)
		var answer struct {
			Data struct{ Results []struct{ Notable []any } }
		}
		err = json.Unmarshal([]byte(exposition.Serve(mux, "/api/v1/results")), &answer)
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, result := range answer.Data.Results { // the newest is the first
			if result.Notable != nil {
				shown = append([]string{wordsOf(result.Notable)}, shown...)
			}
		}
		want := []string{"missed_fast", "slow_ttft missed_fast", "overloaded"}
		if diff := cmp.Diff(want, logged); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Errorf("page (-want +got):\n%s", diff)
		}
	})
}

// wordsOf joins a list of texts.
func wordsOf(list any) string {
	var texts []string
	for _, text := range list.([]any) {
		texts = append(texts, text.(string))
	}
	return strings.Join(texts, " ")
}
