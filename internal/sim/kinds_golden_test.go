package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kindGolden is what a kind answers to kindChat and to kindText, blank lines left out.
type kindGolden struct {
	name       string
	chat, text []string
}

func TestEveryKindByteForByte(t *testing.T) {
	var tested []string
	for _, want := range kindGoldens() {
		tested = append(tested, want.name)
		t.Run(want.name, func(t *testing.T) {
			bubble(t, Config{Server: want.name, Model: "M"}, func(t *testing.T, r *rig) {
				for _, request := range []struct {
					path, body string
					want       []string
				}{{"/chat/completions", kindChat(want.name), want.chat}, {"/completions", kindText(want.name), want.text}} {
					got := r.post(t, r.base()+request.path, request.body, "X-Request-Id", "abc")
					if diff := cmp.Diff(strings.Join(request.want, "\n")+"\n", got.text()); diff != "" || got.status != 200 || got.err != nil {
						t.Errorf("%s: status %d, error %v, body (-want +got):\n%s", request.path, got.status, got.err, diff)
					}
				}
			})
		})
	}
	if diff := cmp.Diff(Kinds(), tested); diff != "" {
		t.Errorf("kinds without a golden stream (-kinds +tested):\n%s", diff)
	}
}

func kindGoldens() []kindGolden {
	return []kindGolden{
		{
			"vllm",
			[]string{
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":17,"completion_tokens":0}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"content":"the"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":18,"completion_tokens":1}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"content":" river"},"logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":"the","logprobs":null,"finish_reason":null,"stop_reason":null}]}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":" river","logprobs":null,"finish_reason":"length","stop_reason":null}]}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
		},
		{
			"production-stack",
			[]string{
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":17,"completion_tokens":0}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"content":"the"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":18,"completion_tokens":1}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"content":" river"},"logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":"the","logprobs":null,"finish_reason":null,"stop_reason":null}]}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":" river","logprobs":null,"finish_reason":"length","stop_reason":null}]}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
		},
		{
			"ray-serve",
			[]string{
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":17,"completion_tokens":0}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":null,"content":"the","reasoning":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":null}],"usage":{"prompt_tokens":17,"total_tokens":18,"completion_tokens":1}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":null,"content":" river","reasoning":null,"tool_calls":null},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":"the","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_logprobs":null,"token_ids":null}],"usage":null}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":" river","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_logprobs":null,"token_ids":null}],"usage":null}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
		},
		{
			"tgi",
			[]string{
				`data: {"object":"chat.completion.chunk","id":"","created":946684800,"model":"M","system_fingerprint":"3.3.6-sim","choices":[{"index":0,"delta":{"role":"assistant","content":"the"},"logprobs":null,"finish_reason":null}],"usage":null}`,
				`data: {"object":"chat.completion.chunk","id":"","created":946684800,"model":"M","system_fingerprint":"3.3.6-sim","choices":[{"index":0,"delta":{"role":"assistant","content":" river"},"logprobs":null,"finish_reason":"length"}],"usage":null}`,
				`data: {"object":"chat.completion.chunk","id":"","created":946684800,"model":"M","system_fingerprint":"3.3.6-sim","choices":[],"usage":{"prompt_tokens":17,"completion_tokens":2,"total_tokens":19}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"object":"text_completion","id":"","created":946684800,"model":"M","system_fingerprint":"3.3.6-sim","choices":[{"index":0,"text":"the","logprobs":null,"finish_reason":""}]}`,
				`data: {"object":"text_completion","id":"","created":946684800,"model":"M","system_fingerprint":"3.3.6-sim","choices":[{"index":0,"text":" river","logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`,
				`data: [DONE]`,
			},
		},
		{
			"sglang",
			[]string{
				`data: {"id":"abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":{"prompt_tokens":17,"total_tokens":17,"completion_tokens":0,"prompt_tokens_details":null,"reasoning_tokens":0}}`,
				`data: {"id":"abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":null,"content":"the","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":{"prompt_tokens":17,"total_tokens":18,"completion_tokens":1,"prompt_tokens_details":null,"reasoning_tokens":0}}`,
				`data: {"id":"abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":null,"content":" river","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":null,"reasoning_tokens":0}}`,
				`data: {"id":"abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":"length","matched_stop":null}],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":null,"reasoning_tokens":0}}`,
				`data: {"id":"abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":null,"reasoning_tokens":0}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"id":"abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":"the","logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}`,
				`data: {"id":"abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":" river","logprobs":null,"finish_reason":"length","matched_stop":null}],"usage":null}`,
				`data: {"id":"abc","object":"text_completion","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":null,"reasoning_tokens":0}}`,
				`data: [DONE]`,
			},
		},
		{
			"trtllm",
			[]string{
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":17,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":0}}} `,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"content":"the","reasoning_content":""},"token_ids":null,"logprobs":null,"finish_reason":null,"stop_reason":null,"avg_decoded_tokens_per_iter":1.0}],"usage":{"prompt_tokens":17,"total_tokens":18,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"content":" river","reasoning_content":""},"token_ids":null,"logprobs":null,"finish_reason":"length","stop_reason":null,"avg_decoded_tokens_per_iter":1.0}],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":"the","token_ids":null,"logprobs":null,"context_logits":null,"finish_reason":null,"stop_reason":null,"disaggregated_params":null,"avg_decoded_tokens_per_iter":1.0}],"usage":{"prompt_tokens":5,"total_tokens":6,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":" river","token_ids":null,"logprobs":null,"context_logits":null,"finish_reason":"length","stop_reason":null,"disaggregated_params":null,"avg_decoded_tokens_per_iter":1.0}],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
		},
		{
			"lmdeploy",
			[]string{
				`data: {"id":"1","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":"assistant","content":"the"},"output_ids":null,"logprobs":null,"finish_reason":null}],"usage":null}`,
				`data: {"id":"1","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":"assistant","content":" river"},"output_ids":null,"logprobs":null,"finish_reason":null}],"usage":null}`,
				`data: {"id":"1","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":"assistant","content":""},"output_ids":null,"logprobs":null,"finish_reason":"length"}],"usage":null}`,
				`data: {"id":"1","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"id":"2","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":"the","logprobs":null,"finish_reason":null}],"usage":null}`,
				`data: {"id":"2","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":" river","logprobs":null,"finish_reason":null}],"usage":null}`,
				`data: {"id":"2","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"length"}],"usage":null}`,
				`data: {"id":"2","object":"text_completion","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2}}`,
				`data: [DONE]`,
			},
		},
		{
			"llama-server",
			[]string{
				`data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":946684800,"id":"chatcmpl-abc","model":"M","system_fingerprint":"b9465-sim","object":"chat.completion.chunk"}`,
				`data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"the"}}],"created":946684800,"id":"chatcmpl-abc","model":"M","system_fingerprint":"b9465-sim","object":"chat.completion.chunk"}`,
				`data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":" river"}}],"created":946684800,"id":"chatcmpl-abc","model":"M","system_fingerprint":"b9465-sim","object":"chat.completion.chunk"}`,
				`data: {"choices":[{"finish_reason":"length","index":0,"delta":{}}],"created":946684800,"id":"chatcmpl-abc","model":"M","system_fingerprint":"b9465-sim","object":"chat.completion.chunk"}`,
				`data: {"choices":[],"created":946684800,"id":"chatcmpl-abc","model":"M","system_fingerprint":"b9465-sim","object":"chat.completion.chunk","usage":{"completion_tokens":2,"prompt_tokens":17,"total_tokens":19,"prompt_tokens_details":{"cached_tokens":0}},"timings":{"cache_n":0,"prompt_n":17,"prompt_ms":20,"predicted_n":2,"predicted_ms":1}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"choices":[{"text":"the","index":0,"logprobs":null,"finish_reason":null}],"created":946684800,"id":"chatcmpl-abc","model":"M","system_fingerprint":"b9465-sim","object":"text_completion"}`,
				`data: {"choices":[{"text":" river","index":0,"logprobs":null,"finish_reason":null}],"created":946684800,"id":"chatcmpl-abc","model":"M","system_fingerprint":"b9465-sim","object":"text_completion"}`,
				`data: {"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"length"}],"created":946684800,"id":"chatcmpl-abc","model":"M","system_fingerprint":"b9465-sim","object":"text_completion","usage":{"completion_tokens":2,"prompt_tokens":5,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":0}},"timings":{"cache_n":0,"prompt_n":5,"prompt_ms":20,"predicted_n":2,"predicted_ms":1}}`,
				`data: [DONE]`,
			},
		},
		{
			"kserve",
			[]string{
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":17,"completion_tokens":0}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"content":"the"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":18,"completion_tokens":1}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"content":" river"},"logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":"the","logprobs":null,"finish_reason":null,"stop_reason":null}]}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":" river","logprobs":null,"finish_reason":"length","stop_reason":null}]}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
		},
		{
			"nim",
			[]string{
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":17,"completion_tokens":0}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"content":"the"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":18,"completion_tokens":1}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[{"index":0,"delta":{"content":" river"},"logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2}}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":"the","logprobs":null,"finish_reason":null,"stop_reason":null}]}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":" river","logprobs":null,"finish_reason":"length","stop_reason":null}]}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
		},
		{
			"dynamo",
			[]string{
				`data: {"id":"chatcmpl-abc","choices":[{"index":0,"delta":{"content":"the","function_call":null,"tool_calls":null,"role":"assistant","refusal":null},"finish_reason":null,"logprobs":null}],"created":946684800,"model":"M","object":"chat.completion.chunk","usage":null}`,
				`data: {"id":"chatcmpl-abc","choices":[{"index":0,"delta":{"content":" river","function_call":null,"tool_calls":null,"role":null,"refusal":null},"finish_reason":"length","logprobs":null}],"created":946684800,"model":"M","object":"chat.completion.chunk","usage":null}`,
				`data: {"id":"chatcmpl-abc","choices":[],"created":946684800,"model":"M","object":"chat.completion.chunk","usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"id":"cmpl-abc","choices":[{"text":"the","index":0,"finish_reason":null,"logprobs":null}],"created":946684800,"model":"M","object":"text_completion","usage":null}`,
				`data: {"id":"cmpl-abc","choices":[{"text":" river","index":0,"finish_reason":"length","logprobs":null}],"created":946684800,"model":"M","object":"text_completion","usage":null}`,
				`data: {"id":"cmpl-abc","choices":[],"created":946684800,"model":"M","object":"text_completion","usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
		},
		{
			"openrouter",
			[]string{
				`: OPENROUTER PROCESSING`,
				`data: {"id":"gen-abc","provider":"Simulated","model":"M","object":"chat.completion.chunk","created":946684800,"choices":[{"index":0,"delta":{"role":"assistant","content":"the"},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}`,
				`data: {"id":"gen-abc","provider":"Simulated","model":"M","object":"chat.completion.chunk","created":946684800,"choices":[{"index":0,"delta":{"role":"assistant","content":" river"},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}`,
				`data: {"id":"gen-abc","provider":"Simulated","model":"M","object":"chat.completion.chunk","created":946684800,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"length","native_finish_reason":"length","logprobs":null}]}`,
				`data: {"id":"gen-abc","provider":"Simulated","model":"M","object":"chat.completion.chunk","created":946684800,"choices":[],"usage":{"prompt_tokens":17,"completion_tokens":2,"total_tokens":19,"cost":0,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}`,
				`data: [DONE]`,
			},
			[]string{
				`: OPENROUTER PROCESSING`,
				`data: {"id":"gen-abc","provider":"Simulated","model":"M","object":"text_completion","created":946684800,"choices":[{"index":0,"text":"the","finish_reason":null,"native_finish_reason":null,"logprobs":null}]}`,
				`data: {"id":"gen-abc","provider":"Simulated","model":"M","object":"text_completion","created":946684800,"choices":[{"index":0,"text":" river","finish_reason":null,"native_finish_reason":null,"logprobs":null}]}`,
				`data: {"id":"gen-abc","provider":"Simulated","model":"M","object":"text_completion","created":946684800,"choices":[{"index":0,"text":"","finish_reason":"length","native_finish_reason":"length","logprobs":null}]}`,
				`data: {"id":"gen-abc","provider":"Simulated","model":"M","object":"text_completion","created":946684800,"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"cost":0,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}`,
				`data: [DONE]`,
			},
		},
		{
			"litellm",
			[]string{
				`data: {"id":"chatcmpl-abc","created":946684800,"model":"M","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"the","role":"assistant"}}]}`,
				`data: {"id":"chatcmpl-abc","created":946684800,"model":"M","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" river"}}]}`,
				`data: {"id":"chatcmpl-abc","created":946684800,"model":"M","object":"chat.completion.chunk","choices":[{"finish_reason":"length","index":0,"delta":{}}]}`,
				`data: {"id":"chatcmpl-abc","created":946684800,"model":"M","object":"chat.completion.chunk","choices":[],"usage":{"completion_tokens":2,"prompt_tokens":17,"total_tokens":19,"completion_tokens_details":null,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"text":"the","index":0,"logprobs":null,"finish_reason":null}]}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"text":" river","index":0,"logprobs":null,"finish_reason":null}]}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"length"}]}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[],"usage":{"completion_tokens":2,"prompt_tokens":5,"total_tokens":7,"completion_tokens_details":null,"prompt_tokens_details":{"cached_tokens":0}}}`,
				`data: [DONE]`,
			},
		},
		{
			"openai",
			[]string{
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null,"obfuscation":"kQ3v"}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":"the"},"finish_reason":null}],"usage":null,"obfuscation":"kQ3vTz8LrYw"}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" river"},"finish_reason":null}],"usage":null,"obfuscation":"kQ"}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":null,"obfuscation":"kQ"}`,
				`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":946684800,"model":"M","service_tier":"default","system_fingerprint":null,"choices":[],"usage":{"prompt_tokens":17,"completion_tokens":2,"total_tokens":19,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"obfuscation":"kQ3v"}`,
				`data: [DONE]`,
			},
			[]string{
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"choices":[{"text":"the","index":0,"logprobs":null,"finish_reason":null}],"model":"M","usage":null,"obfuscation":"kQ3vTz8LrYw"}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"choices":[{"text":" river","index":0,"logprobs":null,"finish_reason":"length"}],"model":"M","usage":null,"obfuscation":"kQ"}`,
				`data: {"id":"cmpl-abc","object":"text_completion","created":946684800,"choices":[],"model":"M","usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"obfuscation":"kQ3v"}`,
				`data: [DONE]`,
			},
		},
	}
}
