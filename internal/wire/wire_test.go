package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

func TestLookup(t *testing.T) {
	for _, d := range dialects {
		if got, err := Lookup(d.Name); err != nil || got != d || d.FinishOptional != (d.Name == "triton") {
			t.Errorf("Lookup(%q) = %+v, %v", d.Name, got, err)
		}
	}
	if _, err := Lookup("openai"); err == nil || !strings.Contains(err.Error(), strings.Join(APIs(), ", ")) {
		t.Errorf("error %v does not list the known names", err)
	}
}

func TestUsage(t *testing.T) {
	first := Usage{Prompt: Tokens(10), Cached: Tokens(8), Output: Tokens(3), Total: Tokens(13)}
	second := Usage{Prompt: Tokens(10), Cached: Tokens(0), Output: Tokens(4)}
	want := Usage{Prompt: Tokens(10), Cached: Tokens(8), Output: Tokens(4), Total: Tokens(13)}
	if got := first.Merge(second); got != want || second.Merge(first) != want {
		t.Errorf("merged %+v, want %+v", got, want)
	}
	for _, test := range []struct {
		name  string
		usage Usage
		want  Count
	}{
		{"unknown", Usage{}, Count{}},
		{"as told", Usage{Output: Tokens(5)}, Tokens(5)},
		{"reasoning outside of output", Usage{Prompt: Tokens(12), Output: Tokens(1), Total: Tokens(303)}, Tokens(291)},
		{"told only by the total", Usage{Prompt: Tokens(12), Total: Tokens(20)}, Tokens(8)},
		{"more than any answer has", Usage{Output: Tokens(1 << 25)}, Count{}},
		{
			"a total with what a cache took",
			Usage{Prompt: Tokens(200), Output: Tokens(8), Total: Tokens(358), Written: Tokens(150), Cached: Tokens(0)},
			Tokens(8),
		},
		{
			"a total with what a cache read",
			Usage{Prompt: Tokens(16), Output: Tokens(8), Total: Tokens(2008), Cached: Tokens(1984)},
			Tokens(8),
		},
		{
			"a total with what a cache read and took",
			Usage{Prompt: Tokens(16), Output: Tokens(8), Total: Tokens(2124), Cached: Tokens(2000), Written: Tokens(100)},
			Tokens(8),
		},
		{
			"a total with a cache and reasoning outside of output",
			Usage{Prompt: Tokens(16), Output: Tokens(8), Total: Tokens(2058), Cached: Tokens(1984), Reasoning: Tokens(50)},
			Tokens(58),
		},
		{
			"reasoning outside of output, and a cache within the prompt",
			Usage{Prompt: Tokens(2000), Output: Tokens(8), Total: Tokens(2308), Cached: Tokens(1984)},
			Tokens(308),
		},
		{
			"reasoning of just as many tokens as the cache has",
			Usage{Prompt: Tokens(2000), Output: Tokens(8), Total: Tokens(2136), Cached: Tokens(128), Reasoning: Tokens(128)},
			Tokens(136),
		},
		{
			"a total that may have a cache, and no output",
			Usage{Prompt: Tokens(16), Total: Tokens(2008), Cached: Tokens(1984)}, Count{},
		},
		{"a total below the prompt", Usage{Prompt: Tokens(12), Total: Tokens(2), Output: Tokens(1)}, Tokens(1)},
	} {
		if got := test.usage.Generated(); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestEndings holds what the words of vendors mean, however they are written.
func TestEndings(t *testing.T) {
	for want, reasons := range map[Ending][]string{
		Unfinished: {"", " "},
		Finished: {"stop", "STOP", "FinishReason.STOP", "tool-calls", "end_turn", "COMPLETE", "FINISHED", "normal", "eos",
			"endTurn", "toolUse"},
		AtLimit:    {"length", "MAX_TOKENS", "max tokens", "model_length", "token_limit", "maxPredictedTokensReached"},
		EndedEarly: {"repetition", "repetition_detected", "time_limit", "TIMEOUT", "incomplete", "generation_timed_out"},
		Filtered: {
			"content_filter", "content-filter", "sensitive", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT",
			"SPII", "IMAGE_SAFETY", "LANGUAGE", "MODEL_ARMOR", "content_filtered", "CONTENT_FILTERED",
			"guardrail_intervened", "ERROR_TOXIC", "moderation", "refusal", "contentFilter", "input_blocked",
		},
		Failed: {
			"network_error", "error", "ERROR", "OTHER", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "abort",
			"engine_error", "internal_error", "server_error",
			"upstream_error", "canceled", "rate_limited", "insufficient_system_resource", "malformed_model_output",
		},
		CutShort:   {"truncated", "ERROR_LIMIT"},
		NoAnswer:   {"load", "unload"},
		UnknownEnd: {"surprise", "finish_reason_unspecified", "7"},
	} {
		for _, reason := range reasons {
			if got := EndingOf(reason); got != want {
				t.Errorf("%q ends as %d, want %d", reason, got, want)
			}
		}
	}
}

// TestFinishReasons holds which values of a key are a reason, and which say that there is none yet.
func TestFinishReasons(t *testing.T) {
	frames := map[*Dialect]string{
		chat:        `{"choices":[{"delta":{"content":"a"},"finish_reason":%s}]}`,
		completions: `{"choices":[{"text":"a","finish_reason":%s}]}`,
		azure:       `{"choices":[{"delta":{"content":"a"},"finish_reason":%s}]}`,
		anthropic:   `{"type":"message_delta","delta":{"stop_reason":%s}}`,
		tgi:         `{"token":{"text":"a"},"details":{"finish_reason":%s}}`,
		triton:      `{"text_output":"a","finish_reason":%s}`,
		ollama:      `{"response":"a","done":false,"done_reason":%s}`,
		responses:   `{"type":"response.completed","response":{"status":%s}}`,
		llama:       `{"content":"a","stop":true,"stop_type":%s}`,
	}
	for d, frame := range frames {
		for value, want := range map[string]string{
			`null`: "", `""`: "", `"null"`: "", `" NULL"`: "", `"None"`: "", `"not_finished"`: "", `false`: "", `[]`: "",
			`"FINISH_REASON_UNSPECIFIED"`: "", `"undefined"`: "", `["length"]`: "length", `{"reason":"length"}`: "length",
			`{}`: "", `0`: "", `"length"`: "length", `{"type":"length","length":8}`: "length", `2`: "2", `"new"`: "new",
		} {
			delta, err := d.Decode(fmt.Appendf(nil, frame, value))
			switch { // these two have an end without a reason as well
			case want == "" && d == responses:
				want = "completed"
			case want == "" && d == llama:
				want = "stop"
			}
			if err != nil || delta.Finish != want {
				t.Errorf("%s: %s is the finish reason %q, want %q (%v)", d.Name, value, delta.Finish, want, err)
			}
		}
	}
}

// FuzzFields holds that what is read of an object is what encoding/json sees.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{`{}`, `{ "a" : [1, {"b":"\\"]}"}, null ] , "c":-1e5 }`, `{"a":{"b":[[],{}]},"a":""}`,
		"{\"a\" :\n1 ,\t\"b\\\"\":\"\\\\\",\"c\":[ ],\"d\":{ } }", `{"\u0061":"\ud83d\ude00","b":"\ud800 \udc00"}`,
		`{"a":1e999,"b":1.50,"c":"{\"d\":1}","":"\u0000"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]json.RawMessage
		isObject := json.Unmarshal(data, &want) == nil && want != nil
		object, isJSON := parseJSON(data)
		if isJSON != json.Valid(data) || object.IsObject() != isObject {
			t.Fatalf("%q is an object: %t, want %t", data, object.IsObject(), isObject)
		}
		got := map[string]json.RawMessage{}
		for key, value := range fieldsOf(object) {
			got[key] = json.RawMessage(value.Raw)
			for element := range elementsOf(value) {
				if !json.Valid([]byte(element.Raw)) {
					t.Errorf("element %q of %q", element.Raw, value.Raw)
				}
			}
		}
		for key, last := range got {
			value := member(object, key)
			if value.Raw != string(last) {
				t.Errorf("%q has %q under %q, want %q", data, value.Raw, key, last)
			}
			var text string
			isText := json.Unmarshal(last, &text) == nil && value.Type == gjson.String
			if isText && utf8.ValidString(value.Raw) && value.Str != text {
				t.Errorf("text %q of %q", value.Str, value.Raw)
			}
		}
		if !isObject || !utf8.Valid(data) {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fields of %q (-want +got):\n%s", data, diff)
		}
	})
}
