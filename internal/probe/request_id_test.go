package probe

import (
	"net/http"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// TestRequestIDs holds which ids of a server are kept: the first of an answer and that of the header, also of a failure,
// without what no id has.
func TestRequestIDs(t *testing.T) {
	const key = "sk-verysecret"
	long := strings.Repeat("x", 127)
	whole := func(id string) http.HandlerFunc {
		named := func(frame string) string { return strings.Replace(frame, "{", `{"id":"`+id+`",`, 1) }
		return after(0, named(role), named(token), named(limit), done).stream
	}
	first := func(id string) http.HandlerFunc {
		return after(0, `{"id":"","choices":[]}`, `{"id":"`+id+`","choices":[]}`, token, limit, done).stream
	}
	for name, test := range map[string]struct {
		server            http.HandlerFunc
		response, request string
	}{
		"none":                         {whole(""), "", ""},
		"of the answer":                {whole("chatcmpl-1"), "chatcmpl-1", ""},
		"in its second frame":          {first("chatcmpl-1"), "chatcmpl-1", ""},
		"of a header":                  {withHeader("X-Request-Id", "req-1", whole("")), "", "req-1"},
		"of both":                      {withHeader("X-Request-Id", "req-1", whole("chatcmpl-1")), "chatcmpl-1", "req-1"},
		"of Anthropic's header":        {withHeader("Request-Id", "req_1", whole("")), "", "req_1"},
		"of Azure's header":            {withHeader("Apim-Request-Id", "1-2", whole("")), "", "1-2"},
		"of Amazon's header":           {withHeader("X-Amzn-Requestid", "3-4", whole("")), "", "3-4"},
		"of a failure":                 {withHeader("X-Request-Id", "req-1", reply(503, "{}")), "", "req-1"},
		"with odd characters":          {whole(`a\u001b[0m b\u00fc\nc`), "a[0mbc", ""},
		"that is long":                 {whole(long + "yz"), long + "y", ""},
		"with the key":                 {withHeader("X-Request-Id", "a-"+key, whole("b-"+key)), "b-***", "a-***"},
		"with the key at its end":      {whole(long[3:] + key), long[3:] + "***", ""},
		"with the key behind its end":  {whole(long[1:] + key), long[1:] + "**", ""},
		"with the key between unseens": {whole(`sk-very\u200bsecret`), "***", ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, test.server)
			target.Key = key
			r := target.Probe(t.Context(), wire.Ask{Model: "m", Prompt: "p", MaxTokens: 1})
			equal(t, "ids", [2]string{test.response, test.request}, [2]string{r.ResponseID, r.RequestID})
		})
	}
}
