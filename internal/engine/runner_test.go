package engine

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/testing/golden"
)

// TestRunner holds what becomes of targets while the configuration, the addresses behind a name, and servers change.
func TestRunner(t *testing.T) {
	const minute = time.Minute
	for name, happens := range map[string]func(d *diary){
		"tokenizer_limits": func(d *diary) {
			d.servers.AnswerOnce("a/tokenize", 2, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "25")
				http.Error(w, "too many requests", http.StatusTooManyRequests)
			})
			d.applyDown("a", "TARGETS_0_URL=http://a")
			d.up("a is up, and its tokenizer refuses the second request")
			d.after(minute)
		},
		"group": func(d *diary) {
			d.applyDown("a", "TARGETS_0_URL=http://a", "TARGETS_0_GROUP=g", "TARGETS_1_URL=http://b", "TARGETS_1_GROUP=g")
			d.up("a is up")
			d.after(minute)
		},
		"disabled": func(d *diary) {
			settings := func(settings ...string) []string {
				return append(settings, "TARGETS_0_URL=http://a", "TARGETS_0_GROUP=g", "TARGETS_1_URL=http://b",
					"TARGETS_1_GROUP=g", "TARGETS_2_URL=http://c")
			}
			d.apply("a and b are a group, and c is disabled", settings("TARGETS_2_ENABLED=off")...)
			d.after(minute)
			d.apply("a is disabled, and c is enabled", settings("TARGETS_0_ENABLED=off")...)
			d.after(minute)
			d.write(fmt.Sprintf("a drain begins (%t) and ends (%t)", d.runner.SetDraining(true), d.runner.SetDraining(false)))
			d.apply("b is disabled, too, and c has other labels",
				settings("TARGETS_0_ENABLED=off", "TARGETS_1_ENABLED=off", "TARGETS_2_LABELS=team=ads")...)
			d.after(minute)
			d.apply("all are enabled", settings()...)
			d.after(minute)
		},
		"disabled_waiting": func(d *diary) {
			d.servers.Down("a")
			waiting := []string{"WAIT_FOR_READY=10m", "TARGETS_0_URL=http://a"}
			d.apply("a is disabled, and not there", append(waiting, "TARGETS_0_ENABLED=off")...)
			d.after(minute)
			d.apply("a is enabled, and still not there", waiting...)
			d.after(minute)
			d.up("a is up")
			d.after(minute)
			d.apply("a is disabled, and restarts", append(waiting, "TARGETS_0_ENABLED=off")...)
			d.servers.Down("a")
			d.after(minute)
			d.apply("a is enabled, and not there yet", waiting...)
			d.after(minute)
		},
		"tokenizer": func(d *diary) {
			d.servers.Answer("a/tokenize", func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"error":"tokenizer broke"}`, http.StatusInternalServerError)
			})
			d.servers.Answer("a/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, strings.Repeat(`data: {"choices":[{"index":0,"delta":{"content":" x"}}]}`+"\n\n", 5)+
					`data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`+"\n\ndata: [DONE]\n\n")
			})
			d.apply("the tokenizer of a is broken, and its answers report no usage", "TARGETS_0_URL=http://a")
			d.after(minute)
			d.after(minute)
			d.write("both work again")
			d.servers.Simulate("a/tokenize")
			d.servers.Simulate("a/v1/chat/completions")
			d.after(minute)
		},
		"server_comes_late": func(d *diary) {
			d.applyDown("a", "TARGETS_0_URL=http://a")
			d.up("a is up")
			d.after(minute)
		},
		"configured_server_comes_late": func(d *diary) {
			d.applyDown("a", "TARGETS_0_URL=http://a", "TARGETS_0_API=openai-chat",
				"TARGETS_0_MODEL=meta-llama/Llama-3.1-8B-Instruct")
			d.up("a is up")
			d.after(minute)
		},
		"tokenizer_hangs_once": func(d *diary) {
			d.servers.Answer("a/tokenize", func(http.ResponseWriter, *http.Request) {
				time.Sleep(8 * time.Second)
				d.servers.Simulate("a/tokenize")
			})
			d.apply("the tokenizer of a hangs once", "TARGETS_0_URL=http://a")
			d.after(minute)
		},
		"rate_limit": func(d *diary) {
			d.servers.Answer("a/tokenize", http.NotFound)
			d.servers.AnswerOnce("a/v1/chat/completions", 2, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "25")
				http.Error(w, "tokens per minute", http.StatusTooManyRequests)
			})
			d.applyDown("a", "TARGETS_0_URL=http://a")
			d.up("a is up, has no tokenizer, and refuses the second request of the calibration")
			d.after(minute)
			d.after(minute)
		},
		"connection_closed": func(d *diary) {
			d.servers.Answer("a/tokenize", http.NotFound)
			closes := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
			d.servers.AnswerOnce("a/v1/chat/completions", 1, closes)
			d.applyDown("a", "TARGETS_0_URL=http://a")
			d.up("a is up, has no tokenizer, and closes the connection of the first request")
			d.after(minute)
		},
		"budget_below_calibration": func(d *diary) {
			d.servers.Answer("a/tokenize", http.NotFound)
			d.apply("a has no tokenizer, and its budget of a day is less than a calibration takes", "TARGETS_0_URL=http://a",
				"TARGETS_0_TOKEN_BUDGET_PER_DAY=150", "QPS=0.001")
			d.after(3 * time.Hour)
			d.after(48 * time.Hour) // the second day ends the calibration, the third has a probe
		},
		"http_sd": func(d *diary) {
			settings := []string{"HTTP_SD_0_URL=http://me:sk-hidden@d/list", "TARGETS_0_URL=http://c", "LABELS=team=none"}
			d.applyDown("d", settings...)
			d.list("d lists a, and b twice; c is configured already, and two are no targets", `[
				{"targets": ["b:80", "a:80", "c:80"], "labels": {"team": "search", "owner": "me", "__meta_rack": "r1"}},
				{"targets": ["b:80", "http://b:80", "a:port", "http://a/?key=sk-hidden"]}]`)
			d.list("a is gone, and 10.0.0.1 is there", `[{"targets": ["10.0.0.1"]}, {"targets": ["b:80"], "labels": {"team": "search"}}]`)
			d.list("b is of another team", `[{"targets": ["b:80"], "labels": {"team": "ads"}}, {"targets": ["10.0.0.1"]}]`)
			d.list("the list is broken", `[{"targets": ["a:80"]}`)
			d.servers.Down("d")
			d.apply("it fails in another way, and is asked in a reload", append(settings, "HTTP_SD_0_REFRESH=1h", "QPS=0.2")...)
			d.after(time.Minute)
			d.list("it works again, and lists nothing", `[]`)
			d.list("it lists a, and is not due", `[{"targets": ["a:80"]}]`)
			d.apply("it is asked in a reload", settings...)
			d.after(time.Minute)
			d.apply("it is not configured any more", "TARGETS_0_URL=http://c")
			d.after(time.Minute)
		},
		"member_hangs": func(d *diary) {
			d.servers.Answer("a/tokenize", hang)
			d.servers.Answer("a/v1/chat/completions", hang)
			d.apply("of a group, a hangs", "TIMEOUT=15s", "TARGETS_0_URL=http://a", "TARGETS_0_GROUP=g",
				"TARGETS_1_URL=http://b", "TARGETS_1_GROUP=g")
			d.after(minute)
			d.after(minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDiary(t)
				happens(d)
				golden.Equal(t, filepath.Join("testdata", "runner_"+name+".txt"), d.text.String())
			})
		})
	}
}

// TestVantagesTakeTurns holds that probers of one target do not start in the same millisecond if they stand in different
// places.
func TestVantagesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := map[time.Duration]bool{}
		for _, vantage := range []string{"", "eu", "us"} {
			d := newDiary(t)
			d.apply("", "VANTAGE="+vantage, "TARGETS_0_URL=http://a")
			starts[d.runner.jobs[0].Plan.First()] = true
		}
		if len(starts) != 3 {
			t.Errorf("the first probes start at %v", starts)
		}
	})
}

// A standstill is a context whose Err stands still for a while at its first call, as a process without a processor.
type standstill struct {
	context.Context
	pause atomic.Int64 // nanoseconds; 0 once it is over
}

func (s *standstill) Err() error {
	time.Sleep(time.Duration(s.pause.Swap(0)))
	return s.Context.Err()
}

// TestLateSlotsAreCounted holds that the slots which a standstill of the process missed are counted as late, of each
// target of the group. The prober drains, so that the others are skipped as well and no server is asked.
func TestLateSlotsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		j := assembleJob(t, nil, "QPS=100", "PROMPT_TOKENS=16", "TARGETS_0_URL=http://a", "TARGETS_0_GROUP=g",
			"TARGETS_1_URL=http://b", "TARGETS_1_GROUP=g")
		for _, m := range j.Members {
			m.Draining.Store(true)
		}
		starts, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		paused := &standstill{Context: starts}
		paused.pause.Store(int64(205 * time.Millisecond))
		j.recorder = j.RecorderFor(d.runner.Observers)
		d.runner.runJob(paused, j, j.Group(j.recorder))
		d.write("a slot is due each 10 ms for a second, and for 205 ms nothing happens")
		d.after(0)
		golden.Equal(t, "testdata/runner_late.txt", d.text.String())
	})
}
