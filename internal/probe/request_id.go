package probe

import (
	"cmp"
	"net/http"
	"strings"
)

// requestID returns how the server calls a request in the header of its answer; empty if it does not say. The names are
// those of OpenAI, vLLM (with --enable-request-id-headers) and most gateways; of Anthropic; of Azure; and of Amazon:
//
//	https://platform.openai.com/docs/api-reference/debugging-requests
//	https://docs.anthropic.com/en/api/errors#request-id
//	https://learn.microsoft.com/azure/api-management
//	https://docs.aws.amazon.com/awssupport/latest/user/request-id.html
func requestID(header http.Header) string {
	return cmp.Or(
		header.Get("X-Request-Id"), header.Get("Request-Id"), header.Get("Apim-Request-Id"), header.Get("X-Amzn-Requestid"))
}

// cleanID returns an id that a server sent without what no id has, at most 128 bytes of it. It is cut last, so that no
// beginning of a credential is left.
func (t Target) cleanID(id string) string {
	const longest = 128
	printable := strings.Map(func(c rune) rune {
		if c <= ' ' || c > '~' {
			return -1
		}
		return c
	}, id)
	clean := t.redact(printable)
	return clean[:min(len(clean), longest)]
}
