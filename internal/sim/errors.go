package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"time"
)

const (
	statusOverloaded = 529 // what Anthropic and some gateways answer instead of 503
	engineFailed     = "Simulated fault: the engine failed."
)

type refusal struct {
	status  int // HTTP
	message string
	param   string        // the field at fault, if one is
	tokens  int           // of a prompt that does not fit; 0: it is something else
	length  int           // what it does not fit, in tokens
	retry   time.Duration // what Retry-After says where it is sent, rounded up to seconds; 0: a second
}

// refuse answers with an error. Some servers have begun the stream already, if one was asked for.
func (s *Server) refuse(w http.ResponseWriter, r refusal, streamed bool) {
	e := &s.serverType.Errors
	status := cmp.Or(e.Statuses[r.status], r.status)
	template, contentType := e.Body, "application/json"
	r.status = status
	switch {
	case streamed && e.InStream != "":
		template, status, contentType = e.InStream, http.StatusOK, "text/event-stream"
	case r.tokens > 0 && e.TooLongAs != 0:
		status, r.status = e.TooLongAs, e.TooLongAs
	case r.tokens > 0 && e.TooLong != "":
		template = e.TooLong
	}
	h := w.Header()
	if retries(status) {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(r.retry.Seconds())))))
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	write(w, status, contentType, os.Expand(template, func(name string) string { return e.placeholder(r, name) }))
}

func retries(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == statusOverloaded
}

// placeholder is what a template of an error may hold.
func (e *errorFormat) placeholder(r refusal, name string) string {
	return map[string]string{
		"message": quoted(r.message),
		"plain":   r.message,
		"type":    quoted(byStatus(e.Types, r.status)),
		"name":    orNull(byStatus(e.Codes, r.status)),
		"param":   orNull(r.param),
		"code":    strconv.Itoa(r.status),
		"tokens":  strconv.Itoa(r.tokens),
		"length":  strconv.Itoa(r.length),
	}[name]
}

// byStatus finds what stands for a status, or for its hundreds.
func byStatus(table map[int]string, status int) string {
	if text, ok := table[status]; ok {
		return text
	}
	return table[min(status/100, 5)]
}

// orNull is a JSON string, null for none.
func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return quoted(text)
}

func quoted(text string) string { return string(mustJSON(text)) }

func write(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// writeJSON answers with a document of ours, which always marshals.
func writeJSON(w http.ResponseWriter, status int, v any) {
	write(w, status, "application/json", string(mustJSON(v)))
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
