package sim

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// native is a request for four tokens (Responses: sixteen, the least it takes) in an API's own format.
type native struct {
	api, path, body string
	tokens          int
	header          []string
}

// anthropicVersion is the header that Anthropic's API wants.
func anthropicVersion() []string { return []string{"Anthropic-Version", "2023-06-01"} }

const azurePath = "/openai/deployments/M/chat/completions?api-version=2024-10-21"

// natives are one a native API. The prompt asks not to stop, for the APIs that cannot ignore the end of sequence.
func natives() []native {
	return []native{
		{"sglang", "/generate", `{"text":"count, do not stop","sampling_params":{"max_new_tokens":4,"ignore_eos":true},"stream":true}`, 4, nil},
		{"triton", "/v2/models/M/generate_stream", `{"text_input":"count, do not stop","stream":true,"exclude_input_in_output":true,
			"parameters":{"max_tokens":4,"min_tokens":4,"ignore_eos":true},"return_num_input_tokens":true,"return_num_output_tokens":true}`, 4, nil},
		{"llama-server", "/completion", `{"prompt":"count, do not stop","n_predict":4,"ignore_eos":true,"stream":true}`, 4, nil},
		{"ollama", "/api/generate", `{"model":"M","prompt":"count, do not stop","raw":true,"options":{"num_predict":4}}`, 4, nil},
		{"anthropic", "/v1/messages", `{"model":"M","max_tokens":4,"messages":[{"role":"user","content":"count, do not stop"}],"stream":true}`, 4, anthropicVersion()},
		{"openai-responses", "/v1/responses", `{"model":"M","input":"count, do not stop","max_output_tokens":16,"stream":true}`, 16, nil},
		{"azure-openai", azurePath, `{"messages":[{"role":"user","content":"count, do not stop"}],"max_tokens":4,"stream":true,"stream_options":{"include_usage":true}}`, 4, nil},
	}
}

func nativeOf(t *testing.T, api string) native {
	t.Helper()
	all := natives()
	i := slices.IndexFunc(all, func(n native) bool { return n.api == api })
	if i < 0 {
		t.Fatalf("no request for %s", api)
	}
	return all[i]
}

// on runs a test of an API against a server of the profile "fast" with the model M.
func (n native) on(t *testing.T, c Config, test func(t *testing.T, r *rig, ask func() heard)) {
	t.Helper()
	c.API, c.Model = n.api, "M"
	t.Run(n.api, func(t *testing.T) {
		bubble(t, c, func(t *testing.T, r *rig) {
			test(t, r, func() heard { return r.post(t, n.path, n.body, n.header...) })
		})
	})
}

// events are named events in which the data repeats the name, as lines.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		name, _, _ := strings.Cut(strings.TrimPrefix(d, `{"type":"`), `"`)
		b.WriteString("event: " + name + "\ndata: " + d + "\n")
	}
	return b.String()
}

// datas are events without names, as lines.
func datas(data ...string) string {
	return "data: " + strings.Join(data, "\ndata: ") + "\n"
}

// zeros is an id that ends in 1.
const zeros = "00000000000000000000000000000001"

func TestNativeStreamsByteForByte(t *testing.T) {
	meta := `"meta_info":{"id":"` + zeros + `","finish_reason":`
	azureHead := `{"choices":[{"content_filter_results":{},"delta":`
	azureTail := fmt.Sprintf(`,"index":0,"logprobs":null}],"created":%d,"id":"chatcmpl-`+zeros+`","model":"M","object":"chat.completion.chunk","system_fingerprint":"fp_simulated","usage":null}`, epoch)
	for api, want := range map[string]string{
		"sglang": datas(
			`{"text":"the","output_ids":[61924],`+meta+`null,"prompt_tokens":5,"weight_version":"default","completion_tokens":1,"cached_tokens":0}}`,
			`{"text":"the river","output_ids":[61924,56633],`+meta+`null,"prompt_tokens":5,"weight_version":"default","completion_tokens":2,"cached_tokens":0}}`,
			`{"text":"the river runs","output_ids":[61924,56633,17475],`+meta+`null,"prompt_tokens":5,"weight_version":"default","completion_tokens":3,"cached_tokens":0}}`,
			`{"text":"the river runs past","output_ids":[61924,56633,17475,101893],`+meta+`{"type":"length","length":4},"prompt_tokens":5,"weight_version":"default","completion_tokens":4,"cached_tokens":0,"e2e_latency":0.023}}`,
			`[DONE]`),
		"triton": datas(
			`{"model_name":"M","model_version":"1","num_input_tokens":5,"num_output_tokens":1,"text_output":"the"}`,
			`{"model_name":"M","model_version":"1","num_input_tokens":5,"num_output_tokens":1,"text_output":" river"}`,
			`{"model_name":"M","model_version":"1","num_input_tokens":5,"num_output_tokens":1,"text_output":" runs"}`,
			`{"model_name":"M","model_version":"1","num_input_tokens":5,"num_output_tokens":1,"text_output":" past"}`),
		"llama-server": datas(
			`{"index":0,"content":"the","tokens":[61924],"stop":false,"id_slot":0,"tokens_predicted":1,"tokens_evaluated":5}`,
			`{"index":0,"content":" river","tokens":[56633],"stop":false,"id_slot":0,"tokens_predicted":2,"tokens_evaluated":5}`,
			`{"index":0,"content":" runs","tokens":[17475],"stop":false,"id_slot":0,"tokens_predicted":3,"tokens_evaluated":5}`,
			`{"index":0,"content":" past","tokens":[101893],"stop":false,"id_slot":0,"tokens_predicted":4,"tokens_evaluated":5}`,
			`{"index":0,"content":"","tokens":[],"id_slot":0,"stop":true,"model":"M","tokens_predicted":4,"tokens_evaluated":5,"truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":8,"timings":{"cache_n":0,"prompt_n":5,"prompt_ms":20,"predicted_n":4,"predicted_ms":3}}`),
		"ollama": strings.Join([]string{
			`{"model":"M","created_at":"2000-01-01T00:00:00.02Z","response":"the","done":false}`,
			`{"model":"M","created_at":"2000-01-01T00:00:00.021Z","response":" river","done":false}`,
			`{"model":"M","created_at":"2000-01-01T00:00:00.022Z","response":" runs","done":false}`,
			`{"model":"M","created_at":"2000-01-01T00:00:00.023Z","response":" past","done":false}`,
			`{"model":"M","created_at":"2000-01-01T00:00:00.023Z","response":"","done":true,"done_reason":"length","total_duration":23000000,"load_duration":0,"prompt_eval_count":5,"prompt_eval_duration":20000000,"eval_count":4,"eval_duration":3000000}`,
		}, "\n") + "\n",
		"anthropic": events(
			`{"type":"message_start","message":{"id":"msg_000000000000000000000001","type":"message","role":"assistant","model":"M","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":17,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"ping"}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"the"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" river"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" runs"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" past"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"input_tokens":17,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":4}}`,
			`{"type":"message_stop"}`),
		"openai-responses": responsesGolden(),
		"azure-openai": datas(
			`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"},"self_harm":{"filtered":false,"severity":"safe"},"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}}}]}`,
			azureHead+`{"content":"","refusal":null,"role":"assistant"},"finish_reason":null`+azureTail,
			azureHead+`{"content":"the"},"finish_reason":null`+azureTail,
			azureHead+`{"content":" river"},"finish_reason":null`+azureTail,
			azureHead+`{"content":" runs"},"finish_reason":null`+azureTail,
			azureHead+`{"content":" past"},"finish_reason":null`+azureTail,
			azureHead+`{},"finish_reason":"length"`+azureTail,
			fmt.Sprintf(`{"choices":[],"created":%d,"id":"chatcmpl-`+zeros+`","model":"M","object":"chat.completion.chunk","system_fingerprint":"fp_simulated","usage":{"prompt_tokens":17,"total_tokens":21,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":0}}}`, epoch),
			`[DONE]`),
	} {
		nativeOf(t, api).on(t, Config{}, func(t *testing.T, _ *rig, ask func() heard) {
			got := ask()
			if diff := cmp.Diff(want, got.text()); diff != "" || got.err != nil || got.status != 200 {
				t.Errorf("status %d, error %v, body (-want +got):\n%s", got.status, got.err, diff)
			}
		})
	}
}

// responsesGolden is the stream of sixteen tokens.
func responsesGolden() string {
	head := fmt.Sprintf(`{"id":"resp_`+zeros+`","object":"response","created_at":%d,"status":`, epoch)
	begun := head + `"in_progress","error":null,"incomplete_details":null,"max_output_tokens":16,"model":"M","output":[],"usage":null}}`
	place := `,"item_id":"msg_` + zeros + `","output_index":0,"content_index":0,`
	text := "the river runs past a quiet mill and under an old stone bridge where people stop"
	part := func(text string) string { return `{"type":"output_text","annotations":[],"text":"` + text + `"}` }
	item := func(status, content string) string {
		return `{"id":"msg_` + zeros + `","type":"message","status":"` + status + `","content":[` + content + `],"role":"assistant"}`
	}
	want := []string{
		`{"type":"response.created","sequence_number":0,"response":` + begun,
		`{"type":"response.in_progress","sequence_number":1,"response":` + begun,
		`{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":` + item("in_progress", "") + `}`,
		`{"type":"response.content_part.added","sequence_number":3` + place + `"part":` + part("") + `}`,
	}
	for i, word := range strings.Fields(text) {
		if i > 0 {
			word = " " + word
		}
		want = append(want, fmt.Sprintf(`{"type":"response.output_text.delta","sequence_number":%d%s"delta":"%s","logprobs":[]}`, 4+i, place, word))
	}
	return events(append(want,
		`{"type":"response.output_text.done","sequence_number":20`+place+`"text":"`+text+`"}`,
		`{"type":"response.content_part.done","sequence_number":21`+place+`"part":`+part(text)+`}`,
		`{"type":"response.output_item.done","sequence_number":22,"output_index":0,"item":`+item("incomplete", part(text))+`}`,
		`{"type":"response.incomplete","sequence_number":23,"response":`+head+`"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"},"max_output_tokens":16,"model":"M","output":[`+
			item("incomplete", part(text))+`],"usage":{"input_tokens":17,"input_tokens_details":{"cached_tokens":0},"output_tokens":16,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":33}}}`)...)
}

func TestNativeHeaders(t *testing.T) {
	sse := "text/event-stream; charset=utf-8"
	for api, want := range map[string]struct {
		headers time.Duration
		kind    string
		more    string // a header of the API's own, as "name: value"
	}{
		"sglang":           {20 * time.Millisecond, sse, ""},
		"triton":           {20 * time.Millisecond, sse, ""},
		"llama-server":     {20 * time.Millisecond, sse, "Server: llama.cpp"},
		"ollama":           {20 * time.Millisecond, "application/x-ndjson", ""},
		"anthropic":        {0, sse, ""},
		"openai-responses": {0, sse, ""},
		"azure-openai":     {0, sse, "Apim-Request-Id: 00000000-0000-4000-8000-000000000001"},
	} {
		nativeOf(t, api).on(t, Config{}, func(t *testing.T, _ *rig, ask func() heard) {
			got := ask()
			if kind := got.header.Get("Content-Type"); got.headers != want.headers || kind != want.kind {
				t.Errorf("headers after %v, want %v; content type %q, want %q", got.headers, want.headers, kind, want.kind)
			}
			if name, value, ok := strings.Cut(want.more, ": "); ok && got.header.Get(name) != value {
				t.Errorf("%s: %q, want %q", name, got.header.Get(name), value)
			}
		})
	}
}

// tokenTimes are when the lines came that hold one of an answer's words, cumulative ones and ends left out.
func tokenTimes(got heard) (at []time.Duration) {
	for _, l := range got.lines {
		for _, key := range []string{`"text":"`, `"text_output":"`, `"content":"`, `"response":"`, `"delta":"`} {
			_, rest, ok := strings.Cut(l.text, key)
			if ok && rest[0] != '"' && !strings.Contains(l.text, ".done") && !strings.Contains(l.text, `"incomplete"`) {
				at = append(at, l.at)
				break
			}
		}
	}
	return at
}

func TestNativeTruthIsWhatTheClientSees(t *testing.T) {
	for _, fault := range []string{"", "itl=2", "tokens_per_frame=3", "batch_ms=2", "slow_headers=1s", "tokens_per_frame=2,batch_ms=3,ttft=2"} {
		t.Run(fault, func(t *testing.T) {
			for _, n := range natives() {
				n.on(t, Config{}, func(t *testing.T, r *rig, ask func() heard) {
					r.inject(t, fault)
					got := ask()
					sent := r.last(t)
					var left []time.Duration
					for _, f := range sent.Frames {
						left = append(left, f.At.Sub(sent.Start))
					}
					if diff := cmp.Diff(left, tokenTimes(got)); diff != "" {
						t.Errorf("token frames (-sent +seen):\n%s", diff)
					}
					if sent.Output != n.tokens || sent.Finish != "length" || sent.Failed != "" {
						t.Errorf("written down: %+v", sent)
					}
				})
			}
		})
	}
}

func TestNativeTokensPerFrame(t *testing.T) {
	for api, want := range map[string]int{
		"sglang": 2, "triton": 2, "llama-server": 4, "ollama": 2, "anthropic": 2, "openai-responses": 6, "azure-openai": 2,
	} {
		nativeOf(t, api).on(t, Config{}, func(t *testing.T, r *rig, ask func() heard) {
			r.inject(t, "tokens_per_frame=3")
			if got := len(tokenTimes(ask())); got != want {
				t.Errorf("%d frames, want %d", got, want)
			}
		})
	}
}

func TestNativeStatusFaults(t *testing.T) {
	for _, test := range []struct{ api, status, want string }{
		{"sglang", "429", `{"error":{"message":"Simulated fault: 429 Too Many Requests"}}`},
		{"triton", "503", `{"error":"Simulated fault: 503 Service Unavailable"}`},
		{"llama-server", "503", `{"error":{"code":503,"message":"Simulated fault: 503 Service Unavailable","type":"unavailable_error"}}`},
		{"ollama", "503", `{"error":"Simulated fault: 503 Service Unavailable"}`},
		{"anthropic", "529", `{"type":"error","error":{"type":"overloaded_error","message":"Simulated fault: 529 Overloaded"}}`},
		{"anthropic", "429", `{"type":"error","error":{"type":"rate_limit_error","message":"Simulated fault: 429 Too Many Requests"}}`},
		{"openai-responses", "429", `{"error":{"message":"Simulated fault: 429 Too Many Requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{"azure-openai", "429", `{"error":{"code":"429","message":"Simulated fault: 429 Too Many Requests"}}`},
	} {
		nativeOf(t, test.api).on(t, Config{}, func(t *testing.T, r *rig, ask func() heard) {
			r.inject(t, "status="+test.status+",retry_after=6100ms")
			got := ask()
			if diff := cmp.Diff(test.want+"\n", got.text()); diff != "" || fmt.Sprint(got.status) != test.status {
				t.Errorf("status %d, body (-want +got):\n%s", got.status, diff)
			}
			if after := got.header.Get("Retry-After"); after != "7" {
				t.Errorf("retry after %q, want 7", after)
			}
		})
	}
}

func TestNativeErrorsInsideTheStream(t *testing.T) {
	for api, want := range map[string]string{
		"sglang":           datas(`{"error":{"message":"Simulated fault: the engine failed."}}`, `[DONE]`),
		"triton":           datas(`{"error":"Error generating stream: simulated fault: the engine failed."}`),
		"llama-server":     datas(`{"error":{"code":500,"message":"Simulated fault: the engine failed.","type":"server_error"}}`),
		"ollama":           `{"error":"Simulated fault: the engine failed."}` + "\n",
		"anthropic":        "event: error\n" + datas(`{"type":"error","error":{"type":"api_error","message":"Simulated fault: the engine failed."}}`),
		"openai-responses": "event: error\n" + datas(`{"type":"error","sequence_number":6,"code":"server_error","message":"Simulated fault: the engine failed.","param":null}`),
		"azure-openai":     datas(`{"error":{"code":"500","message":"Simulated fault: the engine failed."}}`, `[DONE]`),
	} {
		nativeOf(t, api).on(t, Config{}, func(t *testing.T, r *rig, ask func() heard) {
			r.inject(t, "error_after=2")
			got := ask()
			if !strings.HasSuffix(got.text(), "\n"+want) || got.err != nil || len(tokenTimes(got)) != 2 {
				t.Errorf("error %v, want two tokens and\n%s\ngot\n%s", got.err, want, got.text())
			}
			if sent := r.last(t); sent.Output != 2 || sent.Failed != "error" || sent.Finish != "" {
				t.Errorf("written down: %+v", sent)
			}
		})
	}
}

func TestNativeStallsCutsAndHangs(t *testing.T) {
	comments := map[string]string{
		"sglang": ": ping\n", "triton": ": ping\n", "llama-server": ":\n", "ollama": "",
		"anthropic": "event: ping\ndata: {\"type\":\"ping\"}\n", "openai-responses": ": ping\n", "azure-openai": ": ping\n",
	}
	for _, n := range natives() {
		n.on(t, Config{}, func(t *testing.T, r *rig, ask func() heard) {
			r.inject(t, "cut_after=2")
			cut := ask()
			if cut.err == nil || len(tokenTimes(cut)) != 2 || r.last(t).Failed != "cut" {
				t.Errorf("cut: error %v, body\n%s", cut.err, cut.text())
			}
			r.inject(t, "stall_after=2,comments")
			ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
			defer cancel()
			stalled := r.do(ctx, t, http.MethodPost, n.path, n.body, n.header...)
			want := strings.Repeat(comments[n.api], 3)
			if tail := (heard{lines: stalled.lines[len(cut.lines):]}).text(); stalled.ended != 3500*time.Millisecond || r.last(t).Failed != "stall" || tail != want {
				t.Errorf("stall: ended after %v with %q, want %q", stalled.ended, tail, want)
			}
			r.inject(t, "hang")
			ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if hung := r.do(ctx, t, http.MethodPost, n.path, n.body, n.header...); hung.status != 0 || hung.ended != time.Hour {
				t.Errorf("hang: status %d after %v", hung.status, hung.ended)
			}
			r.inject(t, "html")
			if page := ask(); page.status != 200 || page.header.Get("Content-Type") != "text/html; charset=utf-8" {
				t.Errorf("html: status %d, %v", page.status, page.header)
			}
			r.inject(t, "json")
			if doc := ask(); !strings.HasPrefix(doc.header.Get("Content-Type"), "application/json") || len(doc.lines) != 1 || !strings.Contains(doc.text(), `the river runs past`) {
				t.Errorf("json: %v\n%s", doc.header, doc.text())
			}
		})
	}
}
