package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// A refusal is an error in place of an answer.
type refusal struct {
	status  int // HTTP
	message string
}

// engineFailed is what the fault error_frame says.
var engineFailed = refusal{http.StatusInternalServerError, "Simulated fault: the engine failed."}

// bad is a refusal of a request that is wrong.
func bad(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// refuse answers with an error in the words of the server's API.
func (s *Server) refuse(w http.ResponseWriter, r refusal) {
	if r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	document := openAIError(r)
	if s.config.Profile.API == TGI {
		document = tgiError(r)
	}
	write(w, r.status, "application/json", document)
}

// refuseInStream is refuse once the request was read: TGI has begun the stream by then, with status 200.
func (s *Server) refuseInStream(w http.ResponseWriter, r refusal) {
	if s.config.Profile.API == TGI {
		write(w, http.StatusOK, "text/event-stream", event(tgiError(r)))
		return
	}
	s.refuse(w, r)
}

// readJSON reads the body of a request. If it is no JSON, it refuses the request and returns false.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request, into any) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil || json.Unmarshal(body, into) != nil {
		s.refuse(w, *bad("Invalid JSON body."))
		return false
	}
	return true
}

func write(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// writeJSON answers with a document of ours, which always marshals.
func writeJSON(w http.ResponseWriter, status int, v any) {
	write(w, status, "application/json", mustJSON(v))
}

// event is a frame of an SSE stream.
func event(data string) string { return "data: " + data + "\n\n" }

// quoted is a JSON string.
func quoted(text string) string { return mustJSON(text) }

// mustJSON marshals a value of a type of ours, angle brackets as they are.
func mustJSON(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	if err != nil {
		panic(fmt.Sprintf("sim: marshal %T: %v", v, err))
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
