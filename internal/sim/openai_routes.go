package sim

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// openAIRoutes are those of the kind's server that the prober or its users may ask.
func (s *Server) openAIRoutes() {
	k := s.kind
	d := openAI{kind: k, seen: &replays{}}
	for _, prefix := range k.prefixes {
		s.handle("POST "+prefix+"/chat/completions", s.compute(chat{d}))
		s.handle("POST "+prefix+"/completions", s.compute(completions{d}))
		if k.models != "" && k.openModel {
			s.handle("GET "+prefix+"/models", s.models)
		} else if k.models != "" {
			s.handle("GET "+prefix+"/models", s.guarded(d.refuse, s.models))
		}
	}
	s.healthy("GET /health")
	for _, pattern := range slices.Sorted(maps.Keys(k.documents)) {
		s.handle(pattern, func(w http.ResponseWriter, _ *http.Request) {
			reply{status: http.StatusOK, contentType: "application/json", body: []byte(expand(k.documents[pattern], s.fill))}.write(w)
		})
	}
	for _, route := range k.routes {
		if s.config.NoTokenize && route.calibrates() {
			continue
		}
		h := func(w http.ResponseWriter, r *http.Request) { route.handle(s, w, r) }
		if !route.open {
			h = s.guarded(d.refuse, h)
		}
		s.handle(route.pattern, h)
	}
}

// calibrates reports whether a route counts tokens.
func (r kindRoute) calibrates() bool { return r.pattern != "GET /info" }

// handle registers a handler behind the kind's headers.
func (s *Server) handle(pattern string, h http.HandlerFunc) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		s.dress(w, r)
		h(w, r)
	})
}

// lost answers a path that is not served.
func (s *Server) lost(w http.ResponseWriter, r *http.Request) {
	if s.api.name != styleOpenAI {
		s.api.absent.write(w)
		return
	}
	s.dress(w, r)
	body := expand(s.kind.lost, func(string) string { return jsonInside(r.Method + " " + r.URL.Path) })
	reply{status: http.StatusNotFound, contentType: "application/json", body: []byte(body)}.write(w)
}

// fill is what a template of a document may hold.
func (s *Server) fill(name string) string {
	switch name {
	case "model":
		return string(mustJSON(s.config.Model))
	case "plain":
		return jsonInside(s.config.Model)
	case "created":
		return strconv.FormatInt(s.created.Unix(), 10)
	case "length":
		return strconv.Itoa(s.config.Profile.MaxModelLen)
	case "entry":
		return expand(s.kind.model, s.fill)
	}
	return ""
}

// jsonInside is a text as it stands between the quotes of JSON.
func jsonInside(text string) string {
	quoted := mustJSON(text)
	return string(quoted[1 : len(quoted)-1])
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	reply{status: http.StatusOK, contentType: "application/json", body: []byte(expand(s.kind.models, s.fill))}.write(w)
}
