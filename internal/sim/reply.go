package sim

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// refusal is an error in place of an answer.
type refusal struct {
	status  int    // HTTP
	kind    string // the protocol's error type; empty: what fits the status
	message string
	param   string         // the field at fault, if one is
	name    string         // OpenAI: the error's code, a word; empty: what fits the status
	outer   bool           // said by the router in front, if the kind has one
	tokens  int            // of a prompt that does not fit; 0: it is something else
	length  int            // what it does not fit, in tokens
	flat    bool           // OpenAI style: {"object":"error",…} instead of {"error":{…}}
	inside  bool           // TGI: told inside a stream of status 200 if the route streams or a stream was asked for
	more    map[string]int // llama-server: further members of the error
}

// reply is a complete response.
type reply struct {
	status      int
	contentType string
	body        []byte
	retry       time.Duration // what Retry-After says where it is sent, rounded up to seconds; 0: a second
}

// write sends the reply. A client that has left does not matter: nothing follows.
func (r reply) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", r.contentType)
	if retries(r.status) {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(r.retry.Seconds())))))
	}
	if r.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body)
}

// retries reports whether an answer of this status says when to try again.
func retries(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == statusOverloaded
}

// statusOverloaded is what Anthropic and some gateways answer instead of 503.
const statusOverloaded = 529

// simulated is the refusal of the fault "status".
func simulated(status int) refusal {
	text := http.StatusText(status)
	if status == statusOverloaded {
		text = "Overloaded"
	}
	return refusal{status: status, message: strings.TrimSpace(fmt.Sprintf("Simulated fault: %d %s", status, text))}
}

// overloaded is the refusal of a request for which there is no place. TGI tells it inside the stream, if one was asked for.
func overloaded(stream bool) refusal {
	return refusal{status: http.StatusTooManyRequests, message: "Model is overloaded", inside: stream}
}

func unauthorized() refusal {
	return refusal{status: http.StatusUnauthorized, kind: "authentication_error", message: "Invalid or missing API key."}
}

// authorized reports whether a request holds the key, if one is required, as a bearer token or in the header that the API has for it. The scheme's case does not matter.
func (s *Server) authorized(r *http.Request) bool {
	if s.config.APIKey == "" {
		return true
	}
	if name := s.api.key; name != "" && s.opens(r.Header.Get(name)) {
		return true
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && s.opens(key)
}

// opens reports whether a key is the right one.
func (s *Server) opens(key string) bool {
	return subtle.ConstantTimeCompare([]byte(key), []byte(s.config.APIKey)) == 1
}

// guarded answers 401 to requests without the token, encoded by refuse.
func (s *Server) guarded(refuse func(refusal) reply, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.authorized(r) {
			refuse(unauthorized()).write(w)
			return
		}
		h(w, r)
	}
}

// writeJSON answers with a document of ours, which always marshals.
func writeJSON(w http.ResponseWriter, status int, v any) {
	reply{status: status, contentType: "application/json", body: mustJSON(v)}.write(w)
}

// mustJSON marshals a value of a type of ours, angle brackets as they are.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("sim: marshal %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
