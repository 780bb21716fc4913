package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A frameCase is one frame and what it says.
type frameCase struct {
	name, frame string
	want        Delta
}

func checkFrames(t *testing.T, d *Dialect, tests []frameCase) {
	t.Helper()
	for _, test := range tests {
		got, err := d.Decode([]byte(test.frame))
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, err, diff)
		}
	}
}

func TestDecodeSGLang(t *testing.T) {
	checkFrames(t, sglang, []frameCase{
		{"the answer so far", `{"text":"a b","output_ids":[1,2],"meta_info":{"id":"x","finish_reason":null,"prompt_tokens":9,"completion_tokens":2,"cached_tokens":4,"reasoning_tokens":0}}`, Delta{Choice: true, Whole: true, Text: []byte("a b"), Usage: Usage{Prompt: Tokens(9), Output: Tokens(2), Cached: Tokens(4), Reasoning: Tokens(0)}}},
		{"ids alone", `{"output_ids":[1,2,3],"meta_info":{}}`, Delta{Choice: true, Usage: Usage{Output: Tokens(3)}}},
		{"the end", `{"text":"a","meta_info":{"finish_reason":{"type":"length","length":2},"completion_tokens":2}}`, Delta{Choice: true, Whole: true, Text: []byte("a"), Finish: "length", Usage: Usage{Output: Tokens(2)}}},
		{"the end in one word", `{"text":"a","meta_info":{"finish_reason":"stop"}}`, Delta{Choice: true, Whole: true, Text: []byte("a"), Finish: "stop"}},
		{"more reasoning than tokens", `{"text":"","meta_info":{"completion_tokens":24,"reasoning_tokens":25}}`, Delta{Choice: true, Whole: true, Usage: Usage{Output: Tokens(24), Reasoning: Tokens(25)}}},
		{"aborted", `{"text":"","meta_info":{"finish_reason":{"type":"abort","message":"The request queue is full.","status_code":503,"err_type":null}}}`, Delta{Choice: true, Whole: true, Finish: "abort", Err: &ServerError{Type: "abort", Code: "503", Message: "The request queue is full."}}},
		{"an error", `{"error":{"object":"error","message":"m","type":"BadRequestError","code":400}}`, Delta{Err: &ServerError{"BadRequestError", "400", "m"}}},
		{"an error that is not nested", `{"object":"error","message":"m","type":"t","code":400}`, Delta{Err: &ServerError{"t", "400", "m"}}},
		{"a text that speaks of errors", `{"text":"\"error\": 5","meta_info":{}}`, Delta{Choice: true, Whole: true, Text: []byte(`"error": 5`)}},
	})
}

func TestDecodeTriton(t *testing.T) {
	checkFrames(t, triton, []frameCase{
		{"a step", `{"model_name":"m","model_version":"1","text_output":" hi"}`, Delta{Choice: true, Text: []byte(" hi")}},
		{"a step with its counts", `{"num_input_tokens":9,"num_output_tokens":2,"finish_reason":"None","text_output":" hi"}`, Delta{Choice: true, Text: []byte(" hi"), Tokens: 2, Usage: Usage{Prompt: Tokens(9)}}},
		{"tensors as lists", `{"num_input_tokens":[9],"num_output_tokens":[2],"finish_reason":["length"],"text_output":["hi"]}`, Delta{Choice: true, Text: []byte("hi"), Tokens: 2, Finish: "length", Usage: Usage{Prompt: Tokens(9)}}},
		{"empty tensors", `{"num_input_tokens":[],"num_output_tokens":[],"finish_reason":[],"text_output":[]}`, Delta{Choice: true}},
	})
}

func TestDecodeLlama(t *testing.T) {
	checkFrames(t, llama, []frameCase{
		{"a token", `{"index":0,"content":" hi","tokens":[5],"stop":false,"id_slot":0,"tokens_predicted":3,"tokens_evaluated":9}`, Delta{Choice: true, Text: []byte(" hi"), Usage: Usage{Prompt: Tokens(9), Output: Tokens(3)}}},
		{"a token with timings", `{"content":"a","tokens_predicted":3,"tokens_evaluated":9,"timings":{"cache_n":4,"prompt_n":5,"predicted_n":3}}`, Delta{Choice: true, Text: []byte("a"), Usage: Usage{Prompt: Tokens(9), Cached: Tokens(4), Output: Tokens(3)}}},
		{"ids alone", `{"content":"a","tokens":[5,6]}`, Delta{Choice: true, Text: []byte("a"), Tokens: 2}},
		{"progress", `{"content":"","tokens":[],"tokens_predicted":0,"tokens_evaluated":9,"prompt_progress":{"total":9,"cache":0,"processed":5,"time_ms":3}}`, Delta{}},
		{"the end", `{"content":"","tokens":[],"stop":true,"stop_type":"limit","truncated":false,"tokens_predicted":3,"tokens_evaluated":9}`, Delta{Choice: true, Finish: "limit", Usage: Usage{Prompt: Tokens(9), Output: Tokens(3)}}},
		{"the end of an older release", `{"content":"","stop":true,"stopped_eos":false,"stopped_limit":false,"stopped_word":true}`, Delta{Choice: true, Finish: "word"}},
		{"the end of one that says nothing", `{"content":"","stop":true}`, Delta{Choice: true, Finish: "stop"}},
		{"an end for no reason", `{"content":"","stop":true,"stop_type":"none"}`, Delta{Choice: true, Finish: "none"}},
		{"the end of the context", `{"content":"","stop":true,"stop_type":"limit","truncated":true}`, Delta{Choice: true, Finish: "truncated"}},
		{"an error", `{"error":{"code":500,"message":"m","type":"server_error"}}`, Delta{Err: &ServerError{"server_error", "500", "m"}}},
	})
}

func TestDecodeOllama(t *testing.T) {
	checkFrames(t, ollama, []frameCase{
		{"a token", `{"model":"m","created_at":"x","response":" hi","done":false}`, Delta{Choice: true, Text: []byte(" hi")}},
		{"a thought", `{"response":"","thinking":"hm","done":false}`, Delta{Choice: true, Reasoning: []byte("hm")}},
		{"an empty line", `{"response":"","done":false}`, Delta{Choice: true}},
		{"a chat's token", `{"message":{"role":"assistant","content":"hi"},"done":false}`, Delta{Choice: true, Text: []byte("hi")}},
		{"a chat's thought", `{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}`, Delta{Choice: true, Reasoning: []byte("hm")}},
		{"a chat's tool call", `{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}`, Delta{Choice: true, Text: []byte("f")}},
		{"the last line", `{"response":"","done":true,"done_reason":"length","prompt_eval_count":9,"eval_count":3}`, Delta{Finish: "length", Usage: Usage{Prompt: Tokens(9), Output: Tokens(3)}}},
		{"a token in the last line", `{"response":"!","done":true,"done_reason":"stop"}`, Delta{Text: []byte("!"), Finish: "stop"}},
		{"a last line without a reason", `{"response":"","done":true,"eval_count":3}`, Delta{Finish: "done", Usage: Usage{Output: Tokens(3)}}},
		{"a model loaded, and nothing asked", `{"response":"","done":true,"done_reason":"load"}`, Delta{Finish: "load"}},
	})
}

func TestDecodeAnthropic(t *testing.T) {
	checkFrames(t, anthropic, []frameCase{
		{"the start", `{"type":"message_start","message":{"id":"x","content":[],"usage":{"input_tokens":12,"cache_creation_input_tokens":3,"cache_read_input_tokens":5,"output_tokens":1}}}`, Delta{Usage: Usage{Prompt: Tokens(20), Cached: Tokens(5), Output: Tokens(1)}}},
		{"a start without a cache", `{"type":"message_start","message":{"usage":{"input_tokens":12,"output_tokens":0}}}`, Delta{Usage: Usage{Prompt: Tokens(12), Output: Tokens(0)}}},
		{"a block that has text", `{"type":"content_block_start","content_block":{"type":"text","text":"hi"}}`, Delta{Choice: true, Text: []byte("hi")}},
		{"text", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`, Delta{Choice: true, Text: []byte("hi")}},
		{"the type at the end", `{"delta":{"text":"hi","type":"text_delta"},"index":0,"type":"content_block_delta"}`, Delta{Choice: true, Text: []byte("hi")}},
		{"a thought", `{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}`, Delta{Choice: true, Reasoning: []byte("hm")}},
		{"a tool's input", `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"a\""}}`, Delta{Choice: true, Text: []byte(`{"a"`)}},
		{"a finish", `{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":30,"output_tokens_details":{"thinking_tokens":7}}}`, Delta{Finish: "max_tokens", Usage: Usage{Output: Tokens(30), Reasoning: Tokens(7)}}},
		{"a finish with all counts", `{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"input_tokens":1,"cache_read_input_tokens":2,"output_tokens":3}}`, Delta{Finish: "refusal", Usage: Usage{Prompt: Tokens(3), Cached: Tokens(2), Output: Tokens(3)}}},
		{"an error of a gateway", `{"error":"upstream"}`, Delta{Err: &ServerError{Message: "upstream"}}},
		{"an event that is not known", `{"type":"news","text":"hi"}`, Delta{}},
	})
}

func TestDecodeResponses(t *testing.T) {
	usage := `"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":16}`
	want := Usage{Prompt: Tokens(9), Cached: Tokens(4), Output: Tokens(7), Reasoning: Tokens(2), Total: Tokens(16)}
	checkFrames(t, responses, []frameCase{
		{"text", `{"sequence_number":4,"type":"response.output_text.delta","delta":"hi","logprobs":[],"obfuscation":"x"}`, Delta{Choice: true, Text: []byte("hi")}},
		{"a refusal", `{"type":"response.refusal.delta","delta":"no"}`, Delta{Choice: true, Text: []byte("no"), Refusal: true}},
		{"a call", `{"type":"response.function_call_arguments.delta","delta":"{"}`, Delta{Choice: true, Text: []byte("{")}},
		{"a thought", `{"type":"response.reasoning_text.delta","delta":"hm"}`, Delta{Choice: true, Reasoning: []byte("hm")}},
		{"a thought in short", `{"type":"response.reasoning_summary_text.delta","delta":"hm"}`, Delta{Choice: true, Reasoning: []byte("hm")}},
		{"completed", `{"type":"response.completed","response":{"status":"completed","error":null,` + usage + `}}`, Delta{Finish: "completed", Usage: want}},
		{"incomplete", `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},` + usage + `}}`, Delta{Finish: "max_output_tokens", Usage: want}},
		{"incomplete under another name", `{"type":"response.completed","response":{"incomplete_details":{"reason":"max_output_tokens"},"status":"incomplete"}}`, Delta{Finish: "max_output_tokens"}},
		{"incomplete for no reason", `{"type":"response.incomplete","response":{}}`, Delta{Finish: "incomplete"}},
		{"filtered", `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`, Delta{Finish: "content_filter"}},
		{"failed", `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"m"},"usage":null}}`, Delta{Finish: "failed", Err: &ServerError{Code: "server_error", Message: "m"}}},
		{"an error", `{"type":"error","code":"c","message":"m","param":null,"sequence_number":3}`, Delta{Err: &ServerError{"error", "c", "m"}}},
		{"an error without a type", `{"error":{"message":"m"}}`, Delta{Err: &ServerError{Message: "m"}}},
	})
}
