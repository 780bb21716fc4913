package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// exchange is a streamed request to one server, for its model M.
type exchange struct {
	api, server, path, body string
	tokens                  int
}

func (e exchange) String() string { return e.api + " " + e.server + e.path }

const (
	azurePath = "/openai/deployments/M/chat/completions?api-version=2024-10-21"
	question  = "count, do not stop"
)

// exchanges are one for each way to ask each server, for four tokens: Responses for sixteen, the least it takes.
func exchanges() []exchange {
	list := []exchange{
		{"tgi", "", "/generate_stream", `{"inputs":"` + question + `","parameters":{"max_new_tokens":4,"details":true}}`, 4},
		{"sglang", "", "/generate", `{"text":"` + question + `","sampling_params":{"max_new_tokens":4,"ignore_eos":true},"stream":true}`, 4},
		{"triton", "", "/v2/models/M/generate_stream", `{"text_input":"` + question + `","parameters":{"max_tokens":4},"return_num_output_tokens":true}`, 4},
		{"llama-server", "", "/completion", `{"prompt":"` + question + `","n_predict":4,"timings_per_token":true,"stream":true}`, 4},
		{"ollama", "", "/api/generate", `{"model":"M","prompt":"` + question + `","raw":true,"options":{"num_predict":4}}`, 4},
		{"anthropic", "", "/v1/messages", `{"model":"M","max_tokens":4,"messages":[{"role":"user","content":"` + question + `"}],"stream":true}`, 4},
		{"openai-responses", "", "/v1/responses", `{"model":"M","input":"` + question + `","max_output_tokens":16,"stream":true}`, 16},
		{"azure-openai", "", azurePath, `{"messages":[{"role":"user","content":"` + question + `"}],"max_tokens":4,"stream":true,"stream_options":{"include_usage":true}}`, 4},
	}
	for _, name := range ServerTypes() {
		prefix := load(openAI + "/" + name).Prefixes[0]
		limit := "max_tokens"
		if name == "openai" {
			limit = "max_completion_tokens"
		}
		rest := `":4,"stream":true,"stream_options":{"include_usage":true}}`
		list = append(list,
			exchange{openAI, name, prefix + "/chat/completions", `{"model":"M","messages":[{"role":"user","content":"` + question + `"}],"` + limit + rest, 4},
			exchange{openAI, name, prefix + "/completions", `{"model":"M","prompt":"` + question + `","max_tokens` + rest, 4})
	}
	return list
}

// everyServer runs a test of each exchange against its server.
func everyServer(t *testing.T, c Config, test func(t *testing.T, r *rig, e exchange, ask func(body string) heard)) {
	t.Helper()
	for _, e := range exchanges() {
		t.Run(e.String(), func(t *testing.T) {
			c.API, c.Server, c.Model = e.api, e.server, "M"
			bubble(t, c, func(t *testing.T, r *rig) {
				test(t, r, e, func(body string) heard { return r.post(t, e.path, body, version()...) })
			})
		})
	}
}

// version is the header that Anthropic's API wants, and others ignore.
func version() []string { return []string{"Anthropic-Version", "2023-06-01"} }

// datas are the documents in the frames of a stream, each of which must be JSON.
func (h heard) datas(t *testing.T) (list []string) {
	t.Helper()
	for _, l := range h.lines {
		text, found := strings.CutPrefix(l.text, "data:")
		if text = strings.TrimSpace(text); found && text == "[DONE]" || strings.HasPrefix(l.text, ":") || strings.HasPrefix(l.text, "event:") {
			continue
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("no JSON: %s", l.text)
		}
		list = append(list, text)
	}
	return list
}

// inOrder reports whether words come one after the other as the ends of JSON strings.
func inOrder(text string, words ...string) bool {
	for _, word := range words {
		_, after, found := strings.Cut(text, word+`"`)
		if !found {
			return false
		}
		text = after
	}
	return true
}

func TestEveryServerSendsWhatItWritesDown(t *testing.T) {
	for _, fault := range []string{"", "itl=2", "slow_headers=1s", "tokens_per_frame=3", "tokens_per_frame=2,batch=3ms,ttft=2"} {
		everyServer(t, Config{}, func(t *testing.T, r *rig, e exchange, ask func(string) heard) {
			r.inject(t, fault)
			got, sent := ask(e.body), r.last(t)
			if got.status != 200 || got.err != nil || sent.Output != e.tokens || sent.Finish != "length" || sent.Failed != "" {
				t.Fatalf("status %d, error %v, written down: %+v\n%s", got.status, got.err, sent, got.text())
			}
			for _, f := range sent.Frames {
				if !slices.Contains(got.times(), f.At.Sub(sent.Start)) {
					t.Errorf("nothing came at %v", f.At.Sub(sent.Start))
				}
			}
			if all := strings.Join(got.datas(t), "\n"); !strings.Contains(all, " past") || fault == "" && !inOrder(all, "the", "river", "runs", "past") {
				t.Errorf("the text is not in\n%s", all)
			}
		})
	}
}

func TestEveryServerBreaksOff(t *testing.T) {
	everyServer(t, Config{}, func(t *testing.T, r *rig, e exchange, ask func(string) heard) {
		fresh := 0 // no request is the same as one before: a response cache would answer it
		again := func(fault string) heard {
			r.inject(t, fault)
			fresh++
			return ask(strings.Replace(e.body, "count", fmt.Sprintf("count %d", fresh), 1))
		}
		got := again("reset=2")
		if sent := r.last(t); got.err == nil || sent.Failed != "reset" || sent.Output != 2 {
			t.Errorf("reset: error %v, written down: %+v", got.err, sent)
		}
		got = again("error_frame=2")
		if sent := r.last(t); sent.Failed != "error_frame" || sent.Output != 2 || sent.Finish != "" {
			t.Errorf("error frame: written down: %+v", sent)
		}
		if text := got.text(); (got.err != nil) != (e.server == "trtllm") || e.server != "trtllm" && !strings.Contains(text, "rror") {
			t.Errorf("error frame: error %v\n%s", got.err, text)
		}
		got.datas(t)
		if got = again("status=429,retry_after=6100ms"); got.status != 429 || got.header.Get("Retry-After") != "7" {
			t.Errorf("status: %d, retry after %q", got.status, got.header.Get("Retry-After"))
		}
		got.datas(t)
		if got = again("html"); got.status != 200 || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("html: status %d, %v", got.status, got.header)
		}
		if got = again("json"); got.header.Get("Content-Type") != "application/json" || !strings.Contains(got.text(), `"the river runs past`) {
			t.Errorf("json: %v\n%s", got.header, got.text())
		}
		r.inject(t, "stall=2,comments")
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		got = r.do(ctx, t, http.MethodPost, e.path, e.body, version()...)
		if sent := r.last(t); sent.Failed != "stall" || got.ended != 3500*time.Millisecond {
			t.Errorf("stall: written down: %+v; end after %v", sent, got.ended)
		}
		if times := got.times(); times[len(times)-1] < 3*time.Second && e.api != "ollama" { // NDJSON has no comments
			t.Errorf("stall: no comments, lines at %v", times)
		}
	})
}

// reasons reports whether a server tells reasoning apart.
func (e exchange) reasons() bool {
	return strings.Contains(e.path, "chat") && e.server != "tgi" && e.server != "openai" ||
		slices.Contains([]string{"ollama", "anthropic", "openai-responses"}, e.api)
}

func TestReasoningComesFirst(t *testing.T) {
	everyServer(t, Config{Reasoning: 2}, func(t *testing.T, r *rig, e exchange, ask func(string) heard) {
		if !e.reasons() {
			return
		}
		all := strings.Join(ask(e.body).datas(t), "\n")
		told := strings.Contains(all, "reasoning") || strings.Contains(all, "thinking")
		if !told || !inOrder(all, "the", " river", "the", " river") {
			t.Errorf("not first the reasoning and then the answer:\n%s", all)
		}
		r.inject(t, "tokens_per_frame=3")
		if ask(strings.Replace(e.body, "count", "tell", 1)); r.last(t).Frames[0].Tokens > 2 {
			t.Errorf("frames %v, want none of both reasoning and answer", r.last(t).Frames)
		}
	})
}

func TestHiddenReasoningIsOnlyCounted(t *testing.T) {
	for _, reasoning := range []int{3, 100} {
		everyServer(t, Config{Reasoning: reasoning, HideReasoning: true}, func(t *testing.T, r *rig, e exchange, ask func(string) heard) {
			if !e.reasons() && (e.server != "openai" || !strings.Contains(e.path, "chat")) {
				return
			}
			got, hidden := ask(e.body), min(reasoning, e.tokens)
			if sent := r.last(t); sent.Hidden != hidden || sent.Output != e.tokens-hidden || sent.Finish != "length" || got.err != nil {
				t.Errorf("written down: %+v\n%s", sent, got.text())
			}
			if text := got.text(); strings.Contains(text, "thinking") || strings.Contains(text, "reasoning_text") || strings.Contains(text, `ing":"the"`) {
				t.Errorf("a frame of reasoning in\n%s", text)
			}
		})
	}
}

func TestEveryServerSaysTheCodeWords(t *testing.T) {
	everyServer(t, Config{}, func(t *testing.T, r *rig, e exchange, ask func(string) heard) {
		body := strings.Replace(e.body, "count,", "The code words are: zebra Moon9 x-ray. Say the code words and", 1)
		if got := ask(body).text(); !inOrder(got, "zebra", "Moon9", "x-ray", "past") {
			t.Errorf("no code words in\n%s", got)
		}
		r.inject(t, "wrong_answer")
		if got := ask(strings.Replace(body, "zebra", "zebu", 1)).text(); !inOrder(got, "xxxx", "xxxxx", "xxxxx", "past") {
			t.Errorf("no wrong words in\n%s", got)
		}
	})
}

func TestAnswersEndNaturallyAtAnInvisibleToken(t *testing.T) {
	bubble(t, Config{Seed: 7}, func(t *testing.T, r *rig) {
		got := r.post(t, "/v1/completions", `{"prompt":"hello","max_tokens":5000,"stream":true}`)
		sent := r.last(t)
		if sent.Finish != "stop" || sent.Output < 58 || sent.Output > 400 {
			t.Errorf("finish %q after %d tokens, want stop after 58 to 400", sent.Finish, sent.Output)
		}
		if final := got.lines[sent.Output-1].text; !strings.Contains(final, `"text":"","logprobs":null,"finish_reason":"stop"`) {
			t.Errorf("the last token frame is not an invisible end: %s", final)
		}
	})
}
