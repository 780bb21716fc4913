package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

// A counting server speaks OpenAI's chat, has no tokenizer, and counts a token a word and those of its chat template.
type counting struct {
	template atomic.Int64 // tokens; negative: it does not count
	short    atomic.Int64 // requests for short answers
	probes   atomic.Int64 // the others
	model    atomic.Value // the only one; "m" if it was not set
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	model, isSet := c.model.Load().(string)
	if !isSet {
		model = "m"
	}
	if r.URL.Path == "/v1/models" {
		fmt.Fprintf(w, `{"object":"list","data":[{"id":%q,"object":"model"}]}`, model)
		return
	}
	var asked struct {
		Messages []struct{ Content string }
		Limit    int `json:"max_completion_tokens"`
	}
	if r.URL.Path != "/v1/chat/completions" || json.NewDecoder(r.Body).Decode(&asked) != nil {
		http.NotFound(w, r)
		return
	}
	if asked.Limit == length.ShortAnswer {
		c.short.Add(1)
	} else {
		c.probes.Add(1)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	token := fmt.Sprintf(`data: {"model":%q,"choices":[{"index":0,"delta":{"content":" x"},"finish_reason":null}]}`+
		"\n\n", model)
	fmt.Fprint(w, strings.Repeat(token, asked.Limit)+
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`+"\n\n")
	if template := int(c.template.Load()); template >= 0 {
		fmt.Fprintf(w, `data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`+"\n\n",
			len(strings.Fields(asked.Messages[0].Content))+template, asked.Limit)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// slot returns what became of a slot of a member, in words.
func slot(t *testing.T, j *Job, member int, round uint64) string {
	t.Helper()
	r, reason := j.Group(noRecorder{}).Turn(t.Context(), member, round, time.Now())
	if r == nil {
		return "skipped: " + string(reason)
	}
	text := fmt.Sprintf("%s, prompt of %d tokens", report.Failure(r), r.Usage.Prompt.N)
	for _, o := range []probe.Objective{{Signal: probe.SignalAvailability}, {Signal: probe.SignalTTFT}} {
		if _, judged := o.Judge(r); judged {
			text += ", judged by " + string(o.Signal)
		}
	}
	_, hasTTFT := r.TTFT()
	_, hasE2EL := r.E2EL()
	if hasTTFT && hasE2EL {
		text += ", sampled"
	}
	return text
}

// TestUsageThatDrifts holds that requests of their own make the prompts exact, that a probe whose prompt the server
// counts as more than 1% longer gives no sample, although it is answered, and that the prompts are exact again after
// two of them.
func TestUsageThatDrifts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &counting{}
		j := assembleJob(t, memconn.Serve(t, server).Dial, "TARGETS_0_URL=http://a", "PROMPT_TOKENS=1000", "MAX_TOKENS=20")
		for round, step := range []struct {
			template int64 // tokens of the chat template from now on
			want     string
		}{
			{10, "skipped: waiting"}, // its length is found out
			{10, "ok, prompt of 1000 tokens, judged by availability, judged by ttft, sampled"},
			{15, "ok, prompt of 1005 tokens, judged by availability, judged by ttft, sampled"},
			{10, "ok, prompt of 1000 tokens, judged by availability, judged by ttft, sampled"},
			{40, "ok, prompt of 1030 tokens, judged by availability"},
			{40, "ok, prompt of 1030 tokens, judged by availability"},
			{40, "skipped: waiting"}, // it is found out again
			{40, "ok, prompt of 1000 tokens, judged by availability, judged by ttft, sampled"},
		} {
			server.template.Store(step.template)
			if got := slot(t, j, 0, uint64(round)); got != step.want {
				t.Errorf("slot %d: %s, want %s", round, got, step.want)
			}
			if round == 0 && (server.short.Load() == 0 || server.probes.Load() > 0) {
				t.Errorf("%d short requests and %d probes in the first slot", server.short.Load(), server.probes.Load())
			}
		}
	})
}

// TestOnceAsksAgain holds that a command which sends one round sends another one if the answer shows that the prompt
// was not as long as expected.
func TestOnceAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &counting{}
		j := assembleJob(t, memconn.Serve(t, server).Dial, "TARGETS_0_URL=http://a", "PROMPT_TOKENS=1000", "MAX_TOKENS=20")
		before := uint64(0)
		for i, step := range []struct {
			template, rounds, tokens int
		}{
			{10, 1, 1000}, {40, 1, 1030}, {40, 2, 1000}, // one answer alone does not contradict
		} {
			server.template.Store(int64(step.template))
			results, next, err := j.Once(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tokens := results[0].Usage.Prompt.N
			rounds := next - before
			before = next
			if int(rounds) != step.rounds || tokens != step.tokens {
				t.Errorf("call %d: %d rounds, %d tokens, want %+v", i, rounds, tokens, step)
			}
		}
	})
}

// TestAServerThatCountsNothingIsProbed holds that it is probed by an estimate, which is said, and that a member that
// counts makes the prompts exact all the same.
func TestAServerThatCountsNothingIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := simnet.New(t, "silent", "counts")
		silent := &counting{}
		silent.template.Store(-1)
		hosts.Answer("silent", silent.ServeHTTP)
		hosts.Answer("counts", (&counting{}).ServeHTTP)
		j := assembleJob(t, hosts.Dial, "TARGETS_0_URL=http://silent", "TARGETS_0_GROUP=g",
			"TARGETS_1_URL=http://counts", "TARGETS_1_GROUP=g", "PROMPT_TOKENS=1000", "MAX_TOKENS=20")
		got := []string{
			slot(t, j, 0, 0), slot(t, j, 0, 1), report.LengthLine(j.Length.Prompts[0].Snapshot(0)),
			slot(t, j, 1, 1), slot(t, j, 1, 2), report.LengthLine(j.Length.Prompts[0].Snapshot(1)),
		}
		want := []string{
			"skipped: waiting",
			"ok, prompt of 0 tokens, judged by availability, judged by ttft, sampled",
			"the server does not count the tokens of prompts: they have about 1,000, by an estimate",
			"skipped: waiting",
			"ok, prompt of 1000 tokens, judged by availability, judged by ttft, sampled",
			"prompts are exactly 1,000 tokens, by the usage of 3 requests with short answers, which are recorded nowhere",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
