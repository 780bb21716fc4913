package sim

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// routes registers what the server type serves; open ends when the server is closed.
func (s *Server) routes(open context.Context) {
	for i := range s.serverType.Generate {
		g := &s.serverType.Generate[i]
		for _, pattern := range g.Paths {
			s.handle("POST", pattern, s.generate(open, g))
		}
	}
	for name, r := range s.serverType.Routes {
		if r == nil || r.Count != nil && s.config.NoTokenize {
			continue
		}
		method, pattern, _ := strings.Cut(name, " ")
		s.handle(method, pattern, func(w http.ResponseWriter, request *http.Request) {
			if !r.Open && !s.authorized(request) {
				s.refuse(w, unauthorized, false)
				return
			}
			s.answerRoute(w, request, r)
		})
	}
	s.controlRoutes()
	s.mux.HandleFunc("/", s.headed(s.notFound))
}

// handle registers a handler for a path behind each prefix, or for one that begins with a slash.
func (s *Server) handle(method, pattern string, h http.HandlerFunc) {
	prefixes := s.serverType.Prefixes
	if strings.HasPrefix(pattern, "/") {
		prefixes = []string{""}
	}
	for _, prefix := range prefixes {
		if prefix != "" {
			prefix += "/"
		}
		s.mux.HandleFunc(method+" "+prefix+pattern, s.headed(h))
	}
}

// headed is a handler behind the headers that the server type has and wants. A request without an id is given one.
func (s *Server) headed(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Request-Id") == "" {
			r.Header.Set("X-Request-Id", fmt.Sprintf("%032x", s.visits.Add(1)))
		}
		for name, template := range s.serverType.Headers {
			w.Header().Set(name, os.Expand(template, func(string) string { return r.Header.Get("X-Request-Id") }))
		}
		if name := s.serverType.NeedsHeader; name != "" && r.Header.Get(name) == "" {
			s.refuse(w, *bad("", "%s: header is required", name), false)
			return
		}
		h(w, r)
	}
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	if s.serverType.Errors.NotFound == "" {
		s.refuse(w, refusal{status: http.StatusNotFound, message: "Not Found"}, false)
		return
	}
	body := os.Expand(s.serverType.Errors.NotFound, func(string) string { return strings.Trim(quoted(r.Method+" "+r.URL.Path), `"`) })
	write(w, http.StatusNotFound, "application/json", body)
}

var unauthorized = refusal{status: http.StatusUnauthorized, message: "Invalid or missing API key."}

// authorized reports whether a request holds the key, if one is required, as a bearer token or in the server's own header.
func (s *Server) authorized(r *http.Request) bool {
	is := func(key string) bool { return subtle.ConstantTimeCompare([]byte(key), []byte(s.config.APIKey)) == 1 }
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch name := s.serverType.KeyHeader; {
	case s.config.APIKey == "":
		return true
	case name != "" && is(r.Header.Get(name)):
		return true
	}
	return strings.EqualFold(scheme, "Bearer") && is(key)
}

func (s *Server) answerRoute(w http.ResponseWriter, r *http.Request, to *route) {
	values := map[string]string{
		"model":   quoted(s.config.Model),
		"plain":   strings.Trim(quoted(s.config.Model), `"`),
		"created": strconv.FormatInt(s.created.Unix(), 10),
		"date":    s.created.UTC().Format(time.RFC3339),
		"length":  strconv.Itoa(s.config.Profile.MaxModelLen),
	}
	if to.Count != nil {
		var f fields
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.serverType.BodyLimit))
		if err != nil {
			s.refuse(w, refusal{status: http.StatusRequestEntityTooLarge, message: err.Error()}, false)
			return
		}
		_ = json.Unmarshal(body, &f) // what is no object has no prompt
		p, refused := to.Count.prompt(f)
		if refused != nil {
			s.refuse(w, *refused, false)
			return
		}
		ids, pieces := p.tokens(), []map[string]uint32{}
		for _, id := range ids {
			pieces = append(pieces, map[string]uint32{"id": id})
		}
		values["count"], values["ids"] = strconv.Itoa(len(ids)), string(mustJSON(ids))
		values["pieces"], values["text"] = string(mustJSON(pieces)), quoted(strings.Join(p.texts, "\n"))
	}
	body := os.Expand(to.Body, func(name string) string { return values[name] })
	write(w, http.StatusOK, cmp.Or(to.Type, "application/json"), body)
}

// controlRoutes are the simulator's own API, without a key: GET, PUT and DELETE /sim/fault, and GET /sim/sent. It answers JSON; errors are {"error":"…"}.
func (s *Server) controlRoutes() {
	s.mux.HandleFunc("GET /sim/fault", s.showFault)
	s.mux.HandleFunc("PUT /sim/fault", s.putFault)
	s.mux.HandleFunc("DELETE /sim/fault", func(w http.ResponseWriter, r *http.Request) {
		_ = s.SetFault(Fault{}) // the zero Fault is valid
		s.showFault(w, r)
	})
	s.mux.HandleFunc("GET /sim/sent", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, s.Sent())
	})
}

func (s *Server) showFault(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.Fault())
}

func (s *Server) putFault(w http.ResponseWriter, r *http.Request) {
	f, err := readFault(http.MaxBytesReader(w, r.Body, 1<<16))
	if err == nil {
		err = s.SetFault(f)
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	s.showFault(w, r)
}
