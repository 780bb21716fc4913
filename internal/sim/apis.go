package sim

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
)

// The APIs that a server can speak.
const (
	styleOpenAI    = "openai"
	styleTGI       = "tgi"
	styleSGLang    = "sglang"
	styleTriton    = "triton"
	styleLlama     = "llama-server"
	styleOllama    = "ollama"
	styleAnthropic = "anthropic"
	styleResponses = "openai-responses"
	styleAzure     = "azure-openai"
)

// api is one API that a server can speak.
type api struct {
	name   string
	serve  func(*Server) // registers its routes
	key    string        // the header that may hold the key alone, besides Authorization; empty: none
	absent reply         // to paths that it does not know; the kinds of OpenAI's have their own
}

// apis are all of them, in a stable order.
func apis() []api {
	fastAPI := textReply(http.StatusNotFound, "application/json", `{"detail":"Not Found"}`)
	plain := textReply(http.StatusNotFound, "text/plain", "404 page not found")
	none := textReply(http.StatusNotFound, "text/plain", "")
	gone := refusal{status: http.StatusNotFound, message: "Not Found"}
	return []api{
		{name: styleOpenAI, serve: (*Server).openAIRoutes},
		{name: styleTGI, serve: (*Server).tgiRoutes, absent: fastAPI},
		{name: styleSGLang, serve: (*Server).sglangRoutes, absent: fastAPI},
		{name: styleTriton, serve: (*Server).tritonRoutes, absent: none},
		{name: styleLlama, serve: (*Server).llamaRoutes, key: "X-Api-Key", absent: llama{}.refuse(gone)},
		{name: styleOllama, serve: (*Server).ollamaRoutes, absent: plain},
		{name: styleAnthropic, serve: (*Server).anthropicRoutes, key: "X-Api-Key", absent: anthropic{}.refuse(gone)},
		{name: styleResponses, serve: (*Server).responsesRoutes, absent: responses{}.refuse(gone)},
		{name: styleAzure, serve: (*Server).azureRoutes, key: "Api-Key", absent: azure{}.refuse(azureMissing())},
	}
}

// APIs lists the names of the APIs that a server can speak, in a stable order. The slice is the caller's.
func APIs() []string {
	var names []string
	for _, a := range apis() {
		names = append(names, a.name)
	}
	return names
}

// ParseAPI returns the name of an API that a server can speak. The error for an unknown name lists the known ones.
func ParseAPI(name string) (string, error) {
	names := APIs()
	if slices.Contains(names, name) {
		return name, nil
	}
	return "", fmt.Errorf("api %q: unknown; known: %s", name, strings.Join(names, ", "))
}

// apiOf is the API of a name; vLLM's for one that is unknown.
func apiOf(name string) api {
	all := apis()
	return all[max(0, slices.IndexFunc(all, func(a api) bool { return a.name == name }))]
}

// names reports whether a name in a URL's path is the model's: there a model may also go by what follows the last slash
// of its name.
func (c Config) names(name string) bool { return name == c.Model || name == path.Base(c.Model) }

func textReply(status int, contentType, body string) reply {
	return reply{status: status, contentType: contentType, body: []byte(body)}
}

// constant is the handler of a route that always answers the same.
func constant(r reply) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { r.write(w) }
}

// healthy is a health check whose answer has no body.
func (s *Server) healthy(pattern string) {
	s.mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
}

// modelCard is an entry of an OpenAI list of models.
type modelCard struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (s *Server) card(owner string) modelCard {
	return modelCard{ID: s.config.Model, Object: "model", Created: s.created.Unix(), OwnedBy: owner}
}

// modelList is an OpenAI list of models.
type modelList[Card any] struct {
	Object string `json:"object"`
	Data   []Card `json:"data"`
}

// list answers a list of one model.
func (s *Server) list(owner string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, modelList[modelCard]{"list", []modelCard{s.card(owner)}})
	}
}
