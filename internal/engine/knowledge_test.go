package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/testing/memconn"
)

// TestWhatAReloadKeeps holds that the prompts are calibrated again only if a reload changes the server, the workload or
// the length: a calibration without a tokenizer takes three requests of a key, of the day's tokens and of slots.
func TestWhatAReloadKeeps(t *testing.T) {
	for setting, again := range map[string]bool{
		"API_KEY=another": false, "TIMEOUT=99s": false, "QPS=0.2": false, "MAX_TOKENS=30": false, "CONNECTION=reuse": false,
		"TOKEN_BUDGET_PER_DAY=1000000": false, "TARGETS_0_NAME=another": false,
		"TARGETS_0_HEADERS=Authorization=Bearer another": false, "TARGETS_0_HEADERS=X-Route=another": true,
		"PROMPT_TOKENS=900": true, "PROMPT=warm": true, "TARGETS_0_URL=http://b": true, "TARGETS_0_MODEL=another": true,
	} {
		t.Run(setting, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, server := newDiary(t), &counting{}
				server.template.Store(10)
				d.servers.Answer("a", server.ServeHTTP)
				d.servers.Answer("b", server.ServeHTTP)
				variables := []string{"TARGETS_0_URL=http://a", "API_KEY=one", "PROMPT_TOKENS=1000", "MAX_TOKENS=20"}
				d.apply("", variables...)
				time.Sleep(time.Minute)
				before, probes := server.short.Load(), server.probes.Load()
				if before == 0 || probes == 0 {
					t.Fatalf("%d short requests and %d probes before the reload", before, probes)
				}
				d.apply("", append(variables, setting)...)
				time.Sleep(time.Minute)
				if got := server.short.Load() > before; got != again {
					t.Errorf("%d short requests before the reload, %d after it", before, server.short.Load())
				}
				if server.probes.Load() == probes {
					t.Error("nothing is probed after the reload")
				}
			})
		})
	}
}

// TestAnotherModelIsCalibratedAnew holds that the length of prompts is that of a model: with another one on the
// server it is found out again, and with the first one, too, once it is back.
func TestAnotherModelIsCalibratedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, server := newDiary(t), &counting{}
		server.template.Store(10)
		d.servers.Answer("a", server.ServeHTTP)
		d.apply("", "TARGETS_0_URL=http://a", "PROMPT_TOKENS=1000", "MAX_TOKENS=20")
		time.Sleep(time.Minute)
		for _, model := range []string{"another", "m"} {
			before := server.short.Load()
			time.Sleep(time.Minute)
			if server.short.Load() != before {
				t.Fatalf("calibrated again with the same model, before it is %s", model)
			}
			server.model.Store(model)
			time.Sleep(time.Minute)
			if server.short.Load() == before || d.runner.jobs[0].Members[0].Knowledge().Model != model {
				t.Errorf("not calibrated again with the model %s", model)
			}
		}
	})
}

// TestAServerThatNamesItsModelInASlot holds that a member whose server says only in a slot which model it has does not
// have it calibrated again, if another one of the same kind has had that.
func TestAServerThatNamesItsModelInASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, book := &counting{}, length.NewBook()
		config := load(t, "TARGETS_0_URL=http://a", "PROMPT_TOKENS=1000", "MAX_TOKENS=20")
		var jobs []*Job
		for range 2 {
			assembled, err := Assemble(config.Targets, files.New(), book, memconn.Serve(t, server).Dial, "test")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(assembled[0].Close)
			jobs = append(jobs, assembled...)
		}
		for i, want := range []string{
			"skipped: waiting", "skipped: waiting", "ok, prompt of 1000 tokens, judged by availability, judged by ttft, sampled",
		} {
			if got := slot(t, jobs[min(i, 1)], 0, uint64(i)); got != want {
				t.Errorf("slot %d: %s, want %s", i, got, want)
			}
		}
		if short := server.short.Load(); short != 3 {
			t.Errorf("%d short requests by two members of a kind, want the 3 of the first", short)
		}
	})
}

// TestDistrustSurvivesAReload holds that a tokenizer which an answer has contradicted is not believed again after a
// reload, not even where the length must be found out again.
func TestDistrustSurvivesAReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, server := newDiary(t), &costly{perWord: 1, template: 40, context: 4000, counts: true, forgets: true}
		d.servers.Answer("a", server.ServeHTTP)
		variables := []string{
			"TARGETS_0_URL=http://a", "TARGETS_0_API=anthropic", "TARGETS_0_MODEL=m", "PROMPT_TOKENS=1000", "MAX_TOKENS=20",
		}
		d.apply("", variables...)
		time.Sleep(time.Minute)
		counts, short := server.counted.Load(), server.short.Load()
		if counts == 0 || short == 0 {
			t.Fatalf("%d counts and %d short requests: the tokenizer is not contradicted", counts, short)
		}
		d.apply("", append(variables, "API_KEY=another")...)
		time.Sleep(time.Minute)
		if server.counted.Load() != counts || server.short.Load() != short {
			t.Errorf("after a reload the tokenizer is asked %d times, and %d short requests are sent",
				server.counted.Load()-counts, server.short.Load()-short)
		}
		if got := d.runner.jobs[0].Length.Prompts[0].Snapshot(0); got.Off != 0 || got.Method != length.ByUsage {
			t.Errorf("the length is off by %d tokens, by %s", got.Off, got.Method)
		}
	})
}
