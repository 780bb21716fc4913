package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestDecode holds what each dialect's frames say: what a stream of testdata holds is not repeated.
func TestDecode(t *testing.T) {
	usage := `"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,` +
		`"output_tokens_details":{"reasoning_tokens":2},"total_tokens":16}`
	all := Usage{Prompt: Tokens(9), Cached: Tokens(4), Output: Tokens(7), Reasoning: Tokens(2), Total: Tokens(16)}
	for d, tests := range map[*Dialect][]struct {
		name, frame string
		want        Delta
	}{
		chat: {
			{"a role frame with the ids of a token",
				`{"choices":[{"delta":{"role":"assistant","content":""},"token_ids":[7]}]}`, Delta{Choice: true, Tokens: 1}},
			{"content", `{"choices":[{"delta":{"content":"hi"}}]}`, Delta{Choice: true, Text: []byte("hi")}},
			{"white space", `{"choices":[{"delta":{"content":" "}}]}`, Delta{Choice: true, Text: []byte(" ")}},
			{"content in parts", `{"choices":[{"delta":{"content":[{"type":"text","text":"hi"}]}}]}`,
				Delta{Choice: true, Text: []byte("hi")}},
			{"thinking in parts",
				`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}`,
				Delta{Choice: true, Reasoning: []byte("hm")}},
			{"reasoning", `{"choices":[{"delta":{"reasoning":"hm"}}]}`, Delta{Choice: true, Reasoning: []byte("hm")}},
			{"reasoning under both keys", `{"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`,
				Delta{Choice: true, Reasoning: []byte("hm")}},
			{"a refusal", `{"choices":[{"delta":{"refusal":"no"}}]}`, Delta{Choice: true, Text: []byte("no"), Refusal: true}},
			{"a tool call", `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}}]}`,
				Delta{Choice: true, Text: []byte("f{}")}},
			{"an older function call", `{"choices":[{"delta":{"function_call":{"arguments":"{}"}}}]}`,
				Delta{Choice: true, Text: []byte("{}")}},
			{"token ids", `{"choices":[{"text":"","token_ids":[5,6]}]}`, Delta{Choice: true, Tokens: 2}},
			{"a finish", `{"choices":[{"delta":{},"finish_reason":"length"}]}`, Delta{Choice: true, Finish: "length"}},
			{"a finish that is no word", `{"choices":[{"finish_reason":"` + strings.Repeat("é", 30) + `"}]}`,
				Delta{Choice: true, Finish: strings.Repeat("é", 20)}},
			{"usage alone", `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}`,
				Delta{Usage: Usage{Prompt: Tokens(5), Output: Tokens(3), Total: Tokens(8)}}},
			{"no details are unknown, not zero", `{"choices":[],"usage":{"prompt_tokens_details":null}}`, Delta{}},
			{"counts that are none", `{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":1e18,"total_tokens":2.5}}`,
				Delta{}},
			{"counts as floats", `{"choices":[],"usage":{"completion_tokens":3.0}}`, Delta{Usage: Usage{Output: Tokens(3)}}},
			{"Groq's usage", `{"choices":[],"x_groq":{"usage":{"completion_tokens":3}}}`,
				Delta{Usage: Usage{Output: Tokens(3)}}},
			{"OpenRouter's reasoning twice",
				`{"choices":[{"delta":{"content":"","reasoning":"hm","reasoning_details":[{"text":"hm"}]}}]}`,
				Delta{Choice: true, Reasoning: []byte("hm")}},
			{"an error without content beside a token", `{"choices":[{"delta":{"content":"x"}}],"error":""}`,
				Delta{Choice: true, Text: []byte("x")}},
			{"a router's error in words", "inference error: ResourceExhausted - evicted",
				Delta{Err: &ServerError{Message: "inference error: ResourceExhausted - evicted"}}},
			{"Envoy's error in words", "upstream request timeout",
				Delta{Err: &ServerError{Message: "upstream request timeout"}}},
			{"nothing, to keep a connection awake", "", Delta{}},
			{"the end with white space", " [DONE] ", Delta{}},
			{"an error beside a choice",
				`{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":429,"message":"m"}}`,
				Delta{Choice: true, Finish: "error", Err: &ServerError{Code: "429", Message: "m"}}},
			{"a null error is none", `{"choices":[{"delta":{"content":"x"}}],"error":null}`,
				Delta{Choice: true, Text: []byte("x")}},
		},
		tgi: {
			{"a token",
				`{"index":1,"token":{"id":5,"text":" hi","logprob":-1,"special":false},"generated_text":null,"details":null}`,
				Delta{Choice: true, Text: []byte(" hi"), Tokens: 1}},
			{"an incomplete character", `{"token":{"id":5,"text":""}}`, Delta{Choice: true, Tokens: 1}},
			{"the last token",
				`{"token":{"id":5,"text":"."},"generated_text":"hi.","details":{"finish_reason":"length","generated_tokens":9,` +
					`"input_length":80}}`,
				Delta{Choice: true, Text: []byte("."), Tokens: 1, Finish: "length",
					Usage: Usage{Prompt: Tokens(80), Output: Tokens(9)}}},
			{"the last token without details", `{"token":{"id":5,"text":"."},"generated_text":"hi."}`,
				Delta{Choice: true, Text: []byte("."), Tokens: 1, Finish: "generated_text"}},
		},
		sglang: {
			{"the answer so far",
				`{"text":"a b","output_ids":[1,2],"meta_info":{"id":"x","finish_reason":null,"prompt_tokens":9,` +
					`"completion_tokens":2,"cached_tokens":4,"reasoning_tokens":0}}`,
				Delta{Choice: true, Whole: true, Text: []byte("a b"),
					Usage: Usage{Prompt: Tokens(9), Output: Tokens(2), Cached: Tokens(4), Reasoning: Tokens(0)}}},
			{"ids alone", `{"output_ids":[1,2,3],"meta_info":{}}`, Delta{Choice: true, Usage: Usage{Output: Tokens(3)}}},
			{"the end", `{"text":"a","meta_info":{"finish_reason":{"type":"length","length":2},"completion_tokens":2}}`,
				Delta{Choice: true, Whole: true, Text: []byte("a"), Finish: "length", Usage: Usage{Output: Tokens(2)}}},
			{"the end in one word", `{"text":"a","meta_info":{"finish_reason":"stop"}}`,
				Delta{Choice: true, Whole: true, Text: []byte("a"), Finish: "stop"}},
			{"more reasoning than tokens", `{"text":"","meta_info":{"completion_tokens":24,"reasoning_tokens":25}}`,
				Delta{Choice: true, Whole: true, Usage: Usage{Output: Tokens(24), Reasoning: Tokens(25)}}},
			{"aborted",
				`{"text":"","meta_info":{"finish_reason":{"type":"abort","message":"The request queue is full.",` +
					`"status_code":503,"err_type":null}}}`,
				Delta{Choice: true, Whole: true, Finish: "abort",
					Err: &ServerError{Type: "abort", Code: "503", Message: "The request queue is full."}}},
			{"an error", `{"error":{"object":"error","message":"m","type":"BadRequestError","code":400}}`,
				Delta{Err: &ServerError{"BadRequestError", "400", "m"}}},
			{"an error that is not nested", `{"object":"error","message":"m","type":"t","code":400}`,
				Delta{Err: &ServerError{"t", "400", "m"}}},
			{"a text that speaks of errors", `{"text":"\"error\": 5","meta_info":{}}`,
				Delta{Choice: true, Whole: true, Text: []byte(`"error": 5`)}},
		},
		triton: {
			{"a step", `{"model_name":"m","model_version":"1","text_output":" hi"}`, Delta{Choice: true, Text: []byte(" hi")}},
			{"a step with its counts",
				`{"num_input_tokens":9,"num_output_tokens":2,"finish_reason":"None","text_output":" hi"}`,
				Delta{Choice: true, Text: []byte(" hi"), Tokens: 2, Usage: Usage{Prompt: Tokens(9)}}},
			{"tensors as lists",
				`{"num_input_tokens":[9],"num_output_tokens":[2],"finish_reason":["length"],"text_output":["hi"]}`,
				Delta{Choice: true, Text: []byte("hi"), Tokens: 2, Finish: "length", Usage: Usage{Prompt: Tokens(9)}}},
			{"empty tensors", `{"num_input_tokens":[],"num_output_tokens":[],"finish_reason":[],"text_output":[]}`,
				Delta{Choice: true}},
		},
		llama: {
			{"a token",
				`{"index":0,"content":" hi","tokens":[5],"stop":false,"id_slot":0,"tokens_predicted":3,"tokens_evaluated":9}`,
				Delta{Choice: true, Text: []byte(" hi"), Usage: Usage{Prompt: Tokens(9), Output: Tokens(3)}}},
			{"a token with timings",
				`{"content":"a","tokens_predicted":3,"tokens_evaluated":9,"timings":{"cache_n":4,"prompt_n":5,"predicted_n":3}}`,
				Delta{Choice: true, Text: []byte("a"), Usage: Usage{Prompt: Tokens(9), Cached: Tokens(4), Output: Tokens(3)}}},
			{"ids alone", `{"content":"a","tokens":[5,6]}`, Delta{Choice: true, Text: []byte("a"), Tokens: 2}},
			{"progress",
				`{"content":"","tokens":[],"tokens_predicted":0,"tokens_evaluated":9,"prompt_progress":{"total":9,"cache":0,` +
					`"processed":5,"time_ms":3}}`, Delta{}},
			{"the end",
				`{"content":"","tokens":[],"stop":true,"stop_type":"limit","truncated":false,"tokens_predicted":3,` +
					`"tokens_evaluated":9}`, Delta{Choice: true, Finish: "limit", Usage: Usage{Prompt: Tokens(9), Output: Tokens(3)}}},
			{"the end of an older release",
				`{"content":"","stop":true,"stopped_eos":false,"stopped_limit":false,"stopped_word":true}`,
				Delta{Choice: true, Finish: "word"}},
			{"the end of one that says nothing", `{"content":"","stop":true}`, Delta{Choice: true, Finish: "stop"}},
			{"an end for no reason", `{"content":"","stop":true,"stop_type":"none"}`, Delta{Choice: true, Finish: "none"}},
			{"the end of the context", `{"content":"","stop":true,"stop_type":"limit","truncated":true}`,
				Delta{Choice: true, Finish: "truncated"}},
			{"an error", `{"error":{"code":500,"message":"m","type":"server_error"}}`,
				Delta{Err: &ServerError{"server_error", "500", "m"}}},
		},
		ollama: {
			{"a token", `{"model":"m","created_at":"x","response":" hi","done":false}`,
				Delta{Choice: true, Text: []byte(" hi")}},
			{"a thought", `{"response":"","thinking":"hm","done":false}`, Delta{Choice: true, Reasoning: []byte("hm")}},
			{"an empty line", `{"response":"","done":false}`, Delta{Choice: true}},
			{"a chat's token", `{"message":{"role":"assistant","content":"hi"},"done":false}`,
				Delta{Choice: true, Text: []byte("hi")}},
			{"a chat's thought", `{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}`,
				Delta{Choice: true, Reasoning: []byte("hm")}},
			{"a chat's tool call",
				`{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}`,
				Delta{Choice: true, Text: []byte("f")}},
			{"the last line", `{"response":"","done":true,"done_reason":"length","prompt_eval_count":9,"eval_count":3}`,
				Delta{Finish: "length", Usage: Usage{Prompt: Tokens(9), Output: Tokens(3)}}},
			{"a token in the last line", `{"response":"!","done":true,"done_reason":"stop"}`,
				Delta{Text: []byte("!"), Finish: "stop"}},
			{"a last line without a reason", `{"response":"","done":true,"eval_count":3}`,
				Delta{Finish: "done", Usage: Usage{Output: Tokens(3)}}},
			{"a model loaded, and nothing asked", `{"response":"","done":true,"done_reason":"load"}`, Delta{Finish: "load"}},
		},
		anthropic: {
			{"the start",
				`{"type":"message_start","message":{"id":"x","content":[],"usage":{"input_tokens":12,` +
					`"cache_creation_input_tokens":3,"cache_read_input_tokens":5,"output_tokens":1}}}`,
				Delta{Early: true, Usage: Usage{Prompt: Tokens(20), Cached: Tokens(5), Output: Tokens(1)}}},
			{"a start without a cache", `{"type":"message_start","message":{"usage":{"input_tokens":12,"output_tokens":0}}}`,
				Delta{Early: true, Usage: Usage{Prompt: Tokens(12), Output: Tokens(0)}}},
			{"a block that has text", `{"type":"content_block_start","content_block":{"type":"text","text":"hi"}}`,
				Delta{Choice: true, Text: []byte("hi")}},
			{"text", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`,
				Delta{Choice: true, Text: []byte("hi")}},
			{"the type at the end", `{"delta":{"text":"hi","type":"text_delta"},"index":0,"type":"content_block_delta"}`,
				Delta{Choice: true, Text: []byte("hi")}},
			{"a thought", `{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}`,
				Delta{Choice: true, Reasoning: []byte("hm")}},
			{"a tool's input", `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"a\""}}`,
				Delta{Choice: true, Text: []byte(`{"a"`)}},
			{"a finish",
				`{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},` +
					`"usage":{"output_tokens":30,"output_tokens_details":{"thinking_tokens":7}}}`,
				Delta{Finish: "max_tokens", Usage: Usage{Output: Tokens(30), Reasoning: Tokens(7)}}},
			{"a finish with all counts",
				`{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"input_tokens":1,` +
					`"cache_read_input_tokens":2,"output_tokens":3}}`,
				Delta{Finish: "refusal", Usage: Usage{Prompt: Tokens(3), Cached: Tokens(2), Output: Tokens(3)}}},
			{"an error of a gateway", `{"error":"upstream"}`, Delta{Err: &ServerError{Message: "upstream"}}},
			{"an event that is not known", `{"type":"news","text":"hi"}`, Delta{}},
		},
		responses: {
			{"text", `{"sequence_number":4,"type":"response.output_text.delta","delta":"hi","logprobs":[],"obfuscation":"x"}`,
				Delta{Choice: true, Text: []byte("hi")}},
			{"a refusal", `{"type":"response.refusal.delta","delta":"no"}`,
				Delta{Choice: true, Text: []byte("no"), Refusal: true}},
			{"a call", `{"type":"response.function_call_arguments.delta","delta":"{"}`, Delta{Choice: true, Text: []byte("{")}},
			{"a thought", `{"type":"response.reasoning_text.delta","delta":"hm"}`, Delta{Choice: true, Reasoning: []byte("hm")}},
			{"a thought in short", `{"type":"response.reasoning_summary_text.delta","delta":"hm"}`,
				Delta{Choice: true, Reasoning: []byte("hm")}},
			{"completed", `{"type":"response.completed","response":{"status":"completed","error":null,` + usage + `}}`,
				Delta{Finish: "completed", Usage: all}},
			{"incomplete",
				`{"type":"response.incomplete","response":{"status":"incomplete",` +
					`"incomplete_details":{"reason":"max_output_tokens"},` + usage + `}}`,
				Delta{Finish: "max_output_tokens", Usage: all}},
			{"incomplete under another name",
				`{"type":"response.completed","response":{"incomplete_details":{"reason":"max_output_tokens"},` +
					`"status":"incomplete"}}`, Delta{Finish: "max_output_tokens"}},
			{"incomplete for no reason", `{"type":"response.incomplete","response":{}}`, Delta{Finish: "incomplete"}},
			{"filtered", `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`,
				Delta{Finish: "content_filter"}},
			{"failed",
				`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"m"},` +
					`"usage":null}}`, Delta{Finish: "failed", Err: &ServerError{Code: "server_error", Message: "m"}}},
			{"an error", `{"type":"error","code":"c","message":"m","param":null,"sequence_number":3}`,
				Delta{Err: &ServerError{"error", "c", "m"}}},
			{"an error without a type", `{"error":{"message":"m"}}`, Delta{Err: &ServerError{Message: "m"}}},
		},
	} {
		for _, test := range tests {
			got, err := d.Decode([]byte(test.frame))
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("%s, %s: %v (-want +got):\n%s", d.Name, test.name, err, diff)
			}
		}
	}
}

func TestDecodeRefusesWhatIsNoFrame(t *testing.T) {
	for _, d := range dialects {
		for _, frame := range []string{"hello", `{"choices":`, `[1,2`} {
			if _, err := d.Decode([]byte(frame)); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s of %q: error %v", d.Name, frame, err)
			}
		}
	}
}
