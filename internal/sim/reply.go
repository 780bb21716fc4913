package sim

import (
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

// badRequest returns the refusal of a request that is wrong.
func badRequest(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// refuse answers with an error in the words of the server's API.
func (s *Server) refuse(w http.ResponseWriter, r refusal) {
	document := openAIError(r)
	if s.config.Profile.TGI {
		document = tgiError(r)
	}
	if r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, document)
}

// refuseInStream refuses a request that was read. TGI has begun the stream at that moment, with status 200.
func (s *Server) refuseInStream(w http.ResponseWriter, r refusal) {
	if !s.config.Profile.TGI {
		s.refuse(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, event(tgiError(r)))
}

// readBody reads the body of a request.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	const limit = 64 << 20
	return io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
}

// writeJSON answers with v as a JSON document.
func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, marshal(v))
}

// event returns a frame of an SSE stream.
func event(data string) string { return "data: " + data + "\n\n" }

// marshal returns the JSON of one of the simulator's own values, which always marshal.
func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sim: marshal %T: %v", v, err))
	}
	return string(text)
}
