package engine

import (
	"context"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/telemetry"
)

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
		given := map[string]string{"GROUP": "g", "QPS": "100", "PROMPT_TOKENS": "16", "MAX_TOKENS": "1"}
		loaded, err := config.Load(config.Options{Overrides: given, URLs: []string{"a=http://a", "b=http://b"}})
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := Assemble(loaded.Targets, NewFiles(), nil, "test")
		if err != nil {
			t.Fatal(err)
		}
		observers, err := NewObservers(t.Context(), loaded, telemetry.Build{}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		j := jobs[0]
		for _, m := range j.Members {
			m.Draining.Store(true)
		}
		r := NewRunner(t.Context(), RunnerOptions{Observers: observers, Log: zap.NewNop()})
		starts, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		late := &standstill{Context: starts}
		late.pause.Store(int64(205 * time.Millisecond))
		r.probe(late, j, j.Group(observers.RecorderFor(j)))

		served := http.NewServeMux()
		observers.Board.Register(served)
		served.Handle("/metrics", observers.Metrics.Handler(log.Default()))
		get := func(path string) string {
			w := httptest.NewRecorder()
			served.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			return w.Body.String()
		}
		// a slot each 10 ms, of which those of the last 50 are made up for
		if json := get("/api/v1/targets"); strings.Count(json, `"late":16`) != 2 {
			t.Errorf("not 16 late slots of each target: %s", json)
		}
		metrics := get("/metrics")
		for _, target := range []string{"a", "b"} {
			want := `llm_probe_skipped_total{model="unknown",prompt="cold",reason="late",target="` + target + "\"} 16\n"
			if !strings.Contains(metrics, want) {
				t.Errorf("/metrics lacks %s", want)
			}
		}
	})
}
