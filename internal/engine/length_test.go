package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// A counting server speaks OpenAI's chat, has no tokenizer, and counts a token a word and those of its chat template.
type counting struct {
	template atomic.Int64 // tokens; negative: it does not count
	short    atomic.Int64 // requests for other than the configured answers
	probes   atomic.Int64 // the others
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
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
	if asked.Limit == ShortAnswer {
		c.short.Add(1)
	} else {
		c.probes.Add(1)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for range asked.Limit {
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":" x"},"finish_reason":null}]}`+"\n\n")
	}
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`+"\n\n")
	if template := int(c.template.Load()); template >= 0 {
		fmt.Fprintf(w, `data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`+"\n\n",
			len(strings.Fields(asked.Messages[0].Content))+template, asked.Limit)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// job is the job of servers in one group, with prompts of 1,000 tokens and answers of 20.
func (c *counting) job(t *testing.T, more ...http.Handler) *Job {
	t.Helper()
	var urls []string
	for i, handler := range append([]http.Handler{c}, more...) {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		urls = append(urls, fmt.Sprintf("%c=%s", 'a'+i, server.URL))
	}
	given := map[string]string{"PROMPT_TOKENS": "1000", "MAX_TOKENS": "20", "GROUP": "g"}
	loaded, err := config.Load(config.Options{Overrides: given, URLs: urls})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := Assemble(loaded.Targets, NewFiles(), nil, "test")
	if err != nil {
		t.Fatal(err)
	}
	return jobs[0]
}

// turn is a slot of member i: what was recorded, or why nothing was.
func turn(t *testing.T, j *Job, i int, round uint64) (*probe.Result, probe.Skip) {
	t.Helper()
	question := func() probe.Question { return j.question(round) }
	return j.Group(unrecorded{}).Turn(t.Context(), i, question, round, j.Members[i].Capabilities().Looked)
}

// TestUsageThatDrifts holds that requests of their own make the prompts exact, that a probe whose prompt the server
// counts as more than 1% longer gives no sample, although it is answered, and that the prompts are exact again after
// two of them.
func TestUsageThatDrifts(t *testing.T) {
	server := &counting{}
	server.template.Store(10)
	j := server.job(t)
	r, reason := turn(t, j, 0, 0)
	if r != nil || reason != probe.SkipWaiting || server.short.Load() == 0 || server.probes.Load() != 0 {
		t.Errorf("the first slot: %v, skipped for %q; %d probes were sent", r, reason, server.probes.Load())
	}
	for round, want := range []struct {
		template int64
		prompt   int // tokens of the probe; 0: the slot is skipped
		sampled  bool
	}{
		{10, 1000, true}, {15, 1005, true}, {10, 1000, true},
		{40, 1030, false}, {40, 1030, false}, {40, 0, false}, {40, 1000, true},
	} {
		server.template.Store(want.template)
		r, reason := turn(t, j, 0, uint64(round+1))
		if r == nil {
			if want.prompt > 0 || reason != probe.SkipWaiting {
				t.Errorf("slot %d was skipped for %q", round, reason)
			}
			continue
		}
		_, ttft := r.TTFT()
		_, e2el := r.E2EL()
		asked := r.Outcome == probe.OK && r.Usage.Prompt == wire.Tokens(want.prompt)
		if !asked || r.OtherLength == want.sampled || (ttft || e2el) && !want.sampled {
			t.Errorf("slot %d: %s, %d tokens of prompt, TTFT %t, E2EL %t; want %+v",
				round, r.Outcome, r.Usage.Prompt.N, ttft, e2el, want)
		}
		good, judged := probe.Objective{Signal: probe.SignalAvailability}.Judge(r)
		if _, late := (probe.Objective{Signal: probe.SignalTTFT}).Judge(r); !good || !judged || late && !want.sampled {
			t.Errorf("slot %d: available %t, an event of TTFT %t", round, good, late)
		}
	}
}

// TestAServerThatCountsNothingIsProbed holds that it is probed by an estimate, which is said, and that a member that
// counts makes the prompts exact all the same.
func TestAServerThatCountsNothingIsProbed(t *testing.T) {
	silent, counts := &counting{}, &counting{}
	silent.template.Store(-1)
	j := silent.job(t, counts)
	if _, reason := turn(t, j, 0, 0); reason != probe.SkipWaiting {
		t.Errorf("the first slot was skipped for %q", reason)
	}
	r, reason := turn(t, j, 0, 1)
	if reason != "" || r.Outcome != probe.OK || r.Usage.Prompt.Known {
		t.Fatalf("skipped for %q, %v", reason, r)
	}
	const want = "the server does not count the tokens of prompts: they have about 1,000, by an estimate"
	if note := j.LengthNote(0); note != want {
		t.Errorf("noted %q", note)
	}
	if line := j.LengthLine(0); line != want { // which check shows
		t.Errorf("check says %q", line)
	}
	if _, reason := turn(t, j, 1, 1); reason != probe.SkipWaiting || counts.probes.Load() != 0 {
		t.Errorf("the slot of the one that counts was skipped for %q, after %d probes", reason, counts.probes.Load())
	}
	if r, _ := turn(t, j, 1, 2); r == nil || r.Usage.Prompt != wire.Tokens(1000) {
		t.Errorf("not exact on the one that counts: %v", r)
	}
	if means, by, _ := j.Means(); means != ByUsage || by != "b" {
		t.Errorf("exact by %s of %s", means, by)
	}
}
