package probe

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/wire"
)

// callFrames returns a frame for each piece of a call, which is the value of tool_calls.
func callFrames(finish string, pieces ...string) script {
	var frames []string
	for _, piece := range pieces {
		frames = append(frames, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":%s}}]}`, piece))
	}
	return after(ms, append(frames, finish, done)...)
}

// wholeCall returns a call that comes in two frames.
func wholeCall(finish, name, arguments string) script {
	return callFrames(finish,
		fmt.Sprintf(`[{"index":0,"id":"c","type":"function","function":{"name":%q,"arguments":""}}]`, name),
		fmt.Sprintf(`[{"index":0,"function":{"arguments":%q}}]`, arguments))
}

// textFrames returns an answer in one frame for each text.
func textFrames(finish string, texts ...string) script {
	var frames []string
	for _, text := range texts {
		frames = append(frames, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q}}]}`, text))
	}
	return after(ms, append(frames, finish, done)...)
}

// formQuestion asks for two values, as a call or as text.
func formQuestion(isCall bool) Question {
	return Question{
		Ask:    wire.Ask{MaxTokens: 64, Form: &wire.Form{IsCall: isCall, Name: "report", Schema: []byte(`{}`)}},
		Expect: Expectation{Values: map[string]any{"word": "river", "final": true}},
		known:  server.Knowledge{ExactOutput: true, ExactLimit: true}, // of other probes
	}
}

// TestForms holds which calls and which JSON are right, and that a failure names what is wrong and nothing else.
func TestForms(t *testing.T) {
	const called = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	const right = `{"word":"river","final":true}`
	thinks := script{{send: data(`{"choices":[{"delta":{"reasoning":"{"}}]}`)}}
	words := script{{send: data(`{"choices":[{"delta":{"content":"I will. "}}]}`)}}
	for _, test := range []struct {
		name   string
		isCall bool
		script script
		want   Reason
		says   string
	}{
		{"a call", true, wholeCall(called, "report", right), "", ""},
		{"that ends as text does", true, wholeCall(stop, "report", right), "", ""},
		{"after words", true, append(words, wholeCall(called, "report", right)...), "", ""},
		{"in pieces that repeat the name", true, callFrames(called,
			`[{"index":0,"function":{"name":"report","arguments":"{\"word\":\"river\","}}]`,
			`[{"index":0,"function":{"name":"report","arguments":"\"final\":true}"}}]`), "", ""},
		{"in one piece, as an object", true,
			callFrames(called, `[{"function":{"name":"report","arguments":{"word":"river","final":true}}}]`), "", ""},
		{"twice, without an index", true, callFrames(called,
			`[{"function":{"name":"report","arguments":"{\"word\":\"river\",\"final\":true}"}}]`,
			`[{"function":{"name":"report","arguments":"{\"word\":\"x\",\"final\":true}"}}]`), "", ""},
		{"two at once", true, callFrames(called,
			`[{"index":0,"function":{"name":"report","arguments":"{\"word\":\"river\","}},{"index":1,"function":{"name":"x"}}]`,
			`[{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":"\"final\":true}"}}]`), "", ""},
		{"by the older field", true,
			after(ms, `{"choices":[{"delta":{"function_call":{"name":"report","arguments":"{\"word\":\"river\",\"final\":true}"}}}]}`,
				`{"choices":[{"delta":{},"finish_reason":"function_call"}]}`, done), "", ""},
		{"text instead of a call", true, textFrames(stop, right), ReasonNoToolCall, "calls no function"},
		{"another function", true, wholeCall(called, "secret", right), ReasonOtherFunctionCalled, "another function than report"},
		{"arguments that end in the middle", true, wholeCall(called, "report", `{"word":"secret`), ReasonNotJSON,
			"the call's JSON cannot be read"},
		{"no arguments", true, wholeCall(called, "report", ""), ReasonNotJSON, "cannot be read"},
		{"arguments that the limit cuts", true, wholeCall(limit, "report", `{"word":"secret`), ReasonNotJSON,
			"the limit of 64 tokens cut it"},
		{"a wrong argument", true, wholeCall(called, "report", `{"word":"secret","final":true}`), ReasonWrongField,
			"not what was asked for: word is wrong"},

		{"JSON", false, textFrames(stop, `{"word": "ri`, `ver", "final": true}`), "", ""},
		{"with white space, in upper case", false, textFrames(stop, "\n {\"final\":true,\"word\":\" River\"}\n"), "", ""},
		{"after reasoning", false, append(thinks, textFrames(stop, right)...), "", ""},
		{"only reasoning that the limit cuts", false, append(thinks, after(ms, limit, done)...), "", ""},
		{"only reasoning", false, append(thinks, after(ms, stop, done)...), ReasonNotJSON, "the answer's JSON cannot be read"},
		{"in a fence", false, textFrames(stop, "```json\n"+right+"\n```"), ReasonNotJSON, "the answer's JSON cannot be read"},
		{"twice", false, textFrames(stop, right, right), ReasonNotJSON, ""},
		{"a list", false, textFrames(stop, "["+right+"]"), ReasonNotJSON, ""},
		{"null", false, textFrames(stop, "null"), ReasonNotJSON, ""},
		{"white space until the limit", false, textFrames(limit, "{", "   ", "   "), ReasonNotJSON, "the limit of 64 tokens cut it"},
		{"other types", false, textFrames(stop, `{"word":7,"final":"true"}`), ReasonWrongField, "final is wrong, word is wrong"},
		{"a missing field and another one", false, textFrames(stop, `{"word":"river","secret":7}`), ReasonWrongField,
			"final is missing, 1 beyond those of the schema"},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			r := serve(t, test.script.stream).probe(t.Context(), formQuestion(test.isCall))
			want := WrongAnswer
			if test.want == "" {
				want = OK
			}
			endsAs(t, r, want, test.says)
			if r.Reason != test.want {
				t.Errorf("its reason is %q, want %q", r.Reason, test.want)
			}
			if r.Err != nil && strings.Contains(r.Err.Error(), "secret") {
				t.Errorf("shows what the model wrote: %v", r.Err)
			}
		})
	}
}

// TestFormsAreNoLengths holds that an answer that ends by itself has no length that was asked for: it gives no warning,
// and nothing is learned of how the server keeps limits.
func TestFormsAreNoLengths(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		s := textFrames(stop, `{"word":"river"`, `,"final":true}`)
		s[0].send = strings.Replace(s[0].send, "data: [DONE]",
			`data: {"choices":[],"usage":{"prompt_tokens":80,"completion_tokens":2,"total_tokens":82}}`+"\n\ndata: [DONE]", 1)
		target := serve(t, s.stream)
		q := formQuestion(false)
		r := target.probe(t.Context(), q)
		endsAs(t, r, OK, "")
		for _, w := range r.Warnings {
			if w.Kind == WarnAnswerTokens {
				t.Errorf("warns of %d tokens", w.N)
			}
		}
		if a := NewMember(target, "m", 1).answerOf(r, q); !a.MayBeShort {
			t.Error("the answer is said to have to have all tokens")
		}
	})
}

// TestFormsOfOtherAPIs holds that nothing is sent by an API that the prober cannot ask for a form, and that this is not
// the server's fault.
func TestFormsOfOtherAPIs(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		sent := false
		target := serve(t, func(http.ResponseWriter, *http.Request) { sent = true })
		target.Dialect = must(wire.Lookup("anthropic"))
		r := target.probe(t.Context(), formQuestion(true))
		endsAs(t, r, Rejected, "nothing was sent by the API anthropic: the prober asks for tool calls")
		if r.Reason != ReasonWorkloadNotOfAPI || sent || !r.Available(false) {
			t.Errorf("%s; sent %t", r.Reason, sent)
		}
	})
}
