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

	"github.com/google/go-cmp/cmp"
)

// epoch is when every bubble starts: 2000-01-01 00:00:00 UTC.
const epoch = 946684800

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
		if r.do(ctx, t, http.MethodPost, e.path, e.body, version()...); r.last(t).Failed != "stall" {
			t.Errorf("stall: written down: %+v", r.last(t))
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
		got := ask(e.body)
		if all := strings.Join(got.datas(t), "\n"); !inOrder(all, "the", " river", "the", " river") || !strings.Contains(all, "reasoning") && !strings.Contains(all, "thinking") {
			t.Errorf("not first the reasoning and then the answer:\n%s", all)
		}
		r.inject(t, "tokens_per_frame=3")
		if ask(strings.Replace(e.body, "count", "tell", 1)); r.last(t).Frames[0].Tokens != 2 {
			t.Errorf("frames %v, want one of the two tokens of reasoning first", r.last(t).Frames)
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
			got.datas(t)
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
		if got := ask(strings.Replace(body, "zebra", "zebu", 1)).text(); !inOrder(got, "afcv", "Nppo0", "yxsbz", "past") {
			t.Errorf("no wrong words in\n%s", got)
		}
	})
}

func TestRefusals(t *testing.T) {
	strict := Config{RejectFields: []string{"cache_salt", "stream_options.continuous_usage_stats"}}
	small := Config{Profile: Profile{API: openAI, MaxModelLen: 20}}
	key := Config{APIKey: "k"}
	of := func(c Config, api, server string) Config { c.API, c.Server = api, server; return c }
	for _, test := range []struct {
		config     Config
		path, body string
		status     int
		want       string
	}{
		{Config{}, "/v1/completions", `{`, 400, "Invalid JSON body"},
		{Config{}, "/v1/completions", `{"model":"x","prompt":"a"}`, 404, `"type":"NotFoundError","param":"model","code":404`},
		{Config{}, "/v1/completions", `{}`, 400, "prompt: want a prompt."},
		{Config{}, "/v1/completions", `{"prompt":"a","max_tokens":0}`, 400, "at least 1 tokens, got 0"},
		{Config{}, "/v1/completions", `{"prompt":"a","max_tokens":5,"min_tokens":6}`, 400, "0 to 5, got 6"},
		{Config{}, "/v1/completions", `{"prompt":"a","stream_options":{}}`, 400, "stream=True"},
		{Config{}, "/v1/completions", `{"prompt":"a","cache_salt":""}`, 400, "'cache_salt' must be a non-empty string"},
		{small, "/v1/completions", `{"prompt":[` + numbers(20) + `]}`, 400, "maximum context length is 20 tokens"},
		{strict, "/v1/completions", `{"prompt":"a","cache_salt":"x"}`, 400, "not permitted: cache_salt"},
		{strict, "/v1/completions", `{"prompt":"a","stream":true,"stream_options":{"continuous_usage_stats":true}}`, 400, "stream_options.continuous_usage_stats"},
		{key, "/v1/completions", `{}`, 401, "API key"},
		{of(small, openAI, "kserve"), "/openai/v1/completions", `{"prompt":[` + numbers(20) + `]}`, 500, `"code":"500"`},
		{of(small, openAI, "llama-server"), "/v1/completions", `{"prompt":[` + numbers(20) + `]}`, 400, `"n_prompt_tokens":20,"n_ctx":20`},
		{of(Config{}, openAI, "tgi"), "/v1/completions", `{"prompt":[1,2]}`, 422, `"error_type":"validation"`},
		{of(small, openAI, "tgi"), "/v1/completions", `{"prompt":"a","max_tokens":19,"stream":true}`, 200, `"http_status_code":422}`},
		{of(Config{}, openAI, "trtllm"), "/v1/completions", `{"prompt":"a","cache_salt":"s"}`, 400, "supplied: cache_salt"},
		{of(Config{}, openAI, "openai"), "/v1/completions", `{"prompt":"a","stream":true,"stream_options":{"continuous_usage_stats":true}}`, 400, "stream_options.continuous_usage_stats"},
		{of(Config{}, openAI, "openai"), "/v1/chat/completions", `{"messages":[{"content":"a"}],"max_tokens":1}`, 400, "Use 'max_completion_tokens' instead"},
		{of(Config{}, "tgi", ""), "/generate_stream", `{"inputs":""}`, 200, `"error_type":"validation"`},
		{of(key, "tgi", ""), "/tokenize", `{}`, 401, `"error_type":"authentication_error"`},
		{of(Config{}, "triton", ""), "/v2/models/x/generate_stream", `{"text_input":"a"}`, 400, "does not exist"},
		{of(Config{}, "anthropic", ""), "/v1/messages", `{"model":"M","messages":[{"content":"a"}]}`, 400, "max_tokens: Field required"},
		{of(Config{}, "openai-responses", ""), "/v1/responses", `{"model":"M","input":"a","max_output_tokens":15}`, 400, "at least 16 tokens"},
		{of(Config{}, "azure-openai", ""), "/openai/deployments/M/chat/completions", `{}`, 404, "Resource not found"},
		{of(Config{}, "azure-openai", ""), azurePath, `{"messages":[{"content":"a"}],"min_tokens":4}`, 400, "supplied: min_tokens"},
	} {
		test.config.Model = "M"
		bubble(t, test.config, func(t *testing.T, r *rig) {
			got := r.post(t, test.path, test.body, version()...)
			if got.status != test.status || !strings.Contains(got.text(), test.want) || len(got.datas(t)) != 1 {
				t.Errorf("%s %s: status %d, want %d, and %s in\n%s", test.path, test.body, got.status, test.status, test.want, got.text())
			}
		})
	}
}

func TestKeysAndHeadersThatAreWanted(t *testing.T) {
	everyServer(t, Config{APIKey: "k"}, func(t *testing.T, r *rig, e exchange, ask func(string) heard) {
		if got := ask(e.body); got.status != 401 {
			t.Errorf("no key: status %d", got.status)
		}
		want := map[string]int{"Authorization": 200, "X-Api-Key": 401, "Api-Key": 401}
		if name := r.sim.serverType.KeyHeader; name != "" {
			want[name] = 200
		}
		for name, status := range want {
			value := "k"
			if name == "Authorization" {
				value = "bearer k"
			}
			if got := r.post(t, e.path, e.body, append(version(), name, value)...); got.status != status {
				t.Errorf("%s: status %d, want %d", name, got.status, status)
			}
		}
		if got := r.post(t, e.path, e.body, "Authorization", "Bearer k"); (got.status == 200) == (e.api == "anthropic") {
			t.Errorf("no version: status %d", got.status)
		}
	})
}

func TestTimesOfServers(t *testing.T) {
	slow := Profile{API: openAI, TTFT: 2500 * time.Millisecond, TPOT: 30 * time.Millisecond}
	for server, want := range map[string]struct {
		headers time.Duration
		lines   []time.Duration // comments, tokens, final, usage, [DONE]
	}{
		"vllm":       {0, ms(2500, 2530, 2560, 2590, 2590)},
		"ray-serve":  {2500 * time.Millisecond, ms(2500, 2550, 2590, 2590, 2590)},
		"openrouter": {0, ms(0, 1000, 2000, 2500, 2530, 2560, 2590, 2590, 2590, 2590)},
		"litellm":    {2500 * time.Millisecond, ms(2500, 2530, 2560, 2590, 2590, 2590)},
	} {
		bubble(t, Config{Profile: slow, Server: server, Model: "M"}, func(t *testing.T, r *rig) {
			ask := func() heard {
				return r.post(t, r.sim.serverType.Prefixes[0]+"/completions", `{"model":"M","prompt":"do not stop","max_tokens":4,"stream":true}`)
			}
			got := ask()
			if diff := cmp.Diff(want.lines, got.times()); diff != "" || got.headers != want.headers {
				t.Errorf("%s: headers after %v, want %v; lines (-want +got):\n%s\n%s", server, got.headers, want.headers, diff, got.text())
			}
			if again := ask(); (again.ended == 0) != (server == "litellm") {
				t.Errorf("%s: the same again took %v", server, again.ended)
			}
		})
	}
}

func TestAnswersEndNaturallyAtAnInvisibleToken(t *testing.T) {
	bubble(t, Config{Seed: 7}, func(t *testing.T, r *rig) {
		got := r.post(t, "/v1/completions", `{"prompt":"hello","max_tokens":5000,"stream":true,"stream_options":{"include_usage":true}}`)
		sent := r.last(t)
		if sent.Finish != "stop" || sent.Output < 58 || sent.Output > 400 {
			t.Errorf("finish %q after %d tokens, want stop after 58 to 400", sent.Finish, sent.Output)
		}
		if final := got.lines[sent.Output-1].text; !strings.Contains(final, `"text":"","logprobs":null,"finish_reason":"stop"`) {
			t.Errorf("the last token frame is not an invisible end: %s", final)
		}
		if usage := got.lines[sent.Output].text; !strings.Contains(usage, fmt.Sprintf(`"completion_tokens":%d,`, sent.Output)) {
			t.Errorf("usage does not count the invisible token: %s", usage)
		}
	})
	bubble(t, Config{Profile: profile(t, "tgi")}, func(t *testing.T, r *rig) {
		got := r.post(t, "/generate_stream", `{"inputs":"hello","parameters":{"max_new_tokens":100,"details":true}}`)
		final := got.lines[len(got.lines)-1].text
		if !strings.Contains(final, `"text":"<|eot_id|>","logprob":-0.5,"special":true`) || !strings.Contains(final, `"finish_reason":"eos_token"`) {
			t.Errorf("last frame %s", final)
		}
	})
}

// TestADollarIsNoPlaceholder holds that what is filled in is not a template.
func TestADollarIsNoPlaceholder(t *testing.T) {
	bubble(t, Config{Model: "a$text$$"}, func(t *testing.T, r *rig) {
		got := r.post(t, "/v1/completions", `{"model":"a$text$$","prompt":"a","max_tokens":1,"stream":true}`, "X-Request-Id", "$finish")
		if want := `data: {"id":"cmpl-$finish","object":"text_completion","created":946684800,"model":"a$text$$",`; !strings.HasPrefix(got.lines[0].text, want) {
			t.Errorf("\n got %s\nwant %s…", got.lines[0].text, want)
		}
	})
}

// TestTokenizersCount asks each route that counts a prompt, here one of two words. The other routes are held by what
// the prober finds with them: docs/servers.md.
func TestTokenizersCount(t *testing.T) {
	const ask = `{"prompt":"the river","inputs":"the river","content":"the river","input":"the river",` +
		`"messages":[{"content":"the river"}],"add_special":true}`
	for _, e := range exchanges() {
		bubble(t, Config{API: e.api, Server: e.server, Model: "M"}, func(t *testing.T, r *rig) {
			for name, route := range r.sim.serverType.Routes {
				if route == nil || route.Count == nil {
					continue
				}
				method, path, _ := strings.Cut(name, " ")
				if !strings.HasPrefix(path, "/") {
					path = r.sim.serverType.Prefixes[0] + "/" + path
				}
				got := r.do(t.Context(), t, method, path, ask, version()...).text()
				if !strings.Contains(got, `61924`) && !strings.Contains(got, `_tokens":15`) {
					t.Errorf("%v, %s does not count: %s", e, path, got)
				}
			}
		})
	}
}
