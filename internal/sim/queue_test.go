package sim

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOneRequestAloneIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, _ := vllmShort().climb(t, 1)
		if got.ttft != 315 || got.tpot != 50 {
			t.Errorf("TTFT %v ms, TPOT %v ms; want exactly 315 and 50", got.ttft, got.tpot)
		}
	})
}

func TestTheQueueOverHTTP(t *testing.T) {
	bubble(t, Config{Profile: profile(t, "vllm-ladder")}, func(t *testing.T, r *rig) {
		ids := "[" + numbers(80) + "]"
		got := r.post(t, "/v1/completions", `{"prompt":`+ids+`,"max_tokens":4,"ignore_eos":true,"stream":true}`)
		if diff := cmp.Diff(ms(315, 365, 415, 465, 465), got.times()); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
		r.inject(t, "ttft=2,itl=1.5,batch=100ms")
		got = r.post(t, "/v1/completions", `{"prompt":`+ids+`,"max_tokens":4,"ignore_eos":true,"stream":true,"cache_salt":"other"}`)
		if diff := cmp.Diff(ms(630, 730, 830, 855, 855), got.times()); diff != "" {
			t.Errorf("stretched and batched, times (-want +got):\n%s", diff)
		}
	})
}

func TestTGIsQueueOverHTTP(t *testing.T) {
	bubble(t, Config{Profile: profile(t, "tgi-ladder")}, func(t *testing.T, r *rig) {
		body := func(word string) string {
			return `{"inputs":"do not stop` + strings.Repeat(" "+word, 76) + `","parameters":{"max_new_tokens":4,"details":true}}`
		}
		got := r.post(t, "/generate_stream", body("the"))
		if diff := cmp.Diff(ms(123.5, 167, 210.5, 254), got.times()); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
		r.inject(t, "ttft=2,itl=1.5,batch=100ms")
		got = r.post(t, "/generate_stream", body("river"))
		if diff := cmp.Diff(ms(247, 347, 442.75, 442.75), got.times()); diff != "" {
			t.Errorf("stretched and batched, times (-want +got):\n%s", diff)
		}
		if sent := r.last(t); sent.Prompt != 80 || sent.Cached != 0 || sent.Output != 4 || sent.Finish != "length" {
			t.Errorf("sent %+v", sent)
		}
		r.inject(t, "status=503,retry_after=3s")
		if got := r.post(t, "/generate_stream", body("sea")); got.status != 503 {
			t.Errorf("status %d", got.status)
		}
	})
}

// Prompts that are few against the answers that run wait for so many steps, more are served at the next step's end.
func TestFewPromptsWaitForTheAnswersThatRun(t *testing.T) {
	p := Profile{TPOT: time.Second, MaxBatch: 10, StepTokens: 1000, PrefillShare: 0.5, PrefillEvery: 5}
	tests := []struct {
		name          string
		batch         int
		running, late int // prompts at 0 s, and after 1.5 s
		want          time.Duration
	}{
		{"one is half of two", 10, 2, 1, 3 * time.Second},
		{"one is too few for four", 10, 4, 1, 5 * time.Second},
		{"two are enough for four", 10, 4, 2, 3 * time.Second},
		{"two are enough for four, but one has room", 5, 4, 2, 5 * time.Second},
		{"none runs", 10, 0, 1, 1500 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				p := p
				p.MaxBatch = test.batch
				e := newEngine(p)
				start := time.Now()
				for i := range test.running {
					e.submit(uint64(i), start, 1, 0, 20)
				}
				var late *sequence
				for i := range test.late {
					q := e.submit(uint64(100+i), start.Add(1500*time.Millisecond), 1, 0, 20)
					if i == 0 {
						late = q
					}
				}
				running.Go(func() { e.run(ctx) }) // from now on, so that it finds them all
				first, _, _ := late.due(ctx, 0, time.Time{})
				cancel()
				running.Wait()
				if got := first.Sub(start); got != test.want {
					t.Errorf("first token after %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestAStepPaysForItsPrefillOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		p := Profile{TTFT: time.Second, PromptTokens: 1, PrefillFixed: 300 * time.Millisecond, TPOT: 50 * time.Millisecond, MaxBatch: 10, StepTokens: 100}
		e := newEngine(p)
		start := time.Now()
		one, two := e.submit(1, start, 1, 0, 1), e.submit(2, start, 1, 0, 9)
		late := e.submit(3, start.Add(time.Millisecond), 1, 0, 1)
		running.Go(func() { e.run(ctx) }) // from now on, so that it finds them all
		var got []time.Duration
		for _, q := range []*sequence{one, two, late} {
			at, _, _ := q.due(ctx, 0, time.Time{})
			got = append(got, at.Sub(start))
		}
		cancel()
		running.Wait()
		if diff := cmp.Diff(ms(1000, 1000, 1350), got); diff != "" {
			t.Errorf("first tokens (-want +got):\n%s", diff)
		}
	})
}

func TestRoleIsSentAtAcceptanceByAQueue(t *testing.T) {
	bubble(t, Config{Profile: profile(t, "vllm-ladder")}, func(t *testing.T, r *rig) {
		r.inject(t, "role_early=1ms")
		if got := r.post(t, "/v1/chat/completions", chatFour); got.lines[0].at != 0 || got.lines[1].at == 0 {
			t.Errorf("role after %v, first token after %v", got.lines[0].at, got.lines[1].at)
		}
	})
}

func TestALongPromptTearsGapsIntoRunningAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		e := newEngine(profile(t, "vllm-ladder"))
		start := time.Now()
		short := e.submit(1, start, 80, 0, 10)
		e.submit(2, start.Add(time.Second), 2000, 0, 1).close() // leaves before it is served
		long := e.submit(3, start.Add(time.Second/8), 10000, 0, 1)
		running.Go(func() { e.run(ctx) })
		last, _, _ := short.due(ctx, 9, time.Time{})
		first, _, _ := long.due(ctx, 0, time.Time{})
		cancel()
		running.Wait()
		if alone := start.Add(315*time.Millisecond + 9*50*time.Millisecond); last.Sub(alone) < time.Second {
			t.Errorf("the short answer lost only %v to the long prompt", last.Sub(alone))
		}
		if ttft := first.Sub(start); ttft < 11*time.Second || ttft > 13*time.Second {
			t.Errorf("10,000 tokens took %v, recorded 12.3 s", ttft)
		}
	})
}

func TestThePrefixCacheShortensTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		p := profile(t, "vllm-ladder")
		e := newEngine(p)
		running.Go(func() { e.run(ctx) })
		start := time.Now()
		at, _, _ := e.submit(1, start, 10000, 9984, 1).due(ctx, 0, time.Time{})
		cancel()
		running.Wait()
		if want := p.base() + p.prefill(9984, 10000); at.Sub(start) != want {
			t.Errorf("TTFT %v, want %v", at.Sub(start), want)
		}
	})
}
