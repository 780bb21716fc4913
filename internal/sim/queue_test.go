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

func TestRoleIsSentAtAcceptanceByAQueue(t *testing.T) {
	bubble(t, Config{Profile: profile(t, "vllm-ladder")}, func(t *testing.T, r *rig) {
		r.inject(t, "role_early=1ms")
		if got := r.post(t, "/v1/chat/completions", chatFour); got.lines[0].at != 0 || got.lines[1].at == 0 {
			t.Errorf("role after %v, first token after %v", got.lines[0].at, got.lines[1].at)
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
