package sim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// azure is Azure OpenAI's chat: POST /openai/deployments/{d}/chat/completions?api-version=….
type azure struct{ deployment string }

// azureUnknown are fields of vLLM that Azure refuses.
func azureUnknown() []string {
	return []string{"min_tokens", "ignore_eos", "cache_salt", "stream_options.continuous_usage_stats"}
}

func (azure) limit() int64 { return openAIBodyLimit }

// read ignores the request's model: the deployment says which it is.
func (d azure) read(body []byte, c Config) (ask, *refusal) {
	if !c.names(d.deployment) {
		return ask{}, &refusal{
			status: http.StatusNotFound, name: "DeploymentNotFound",
			message: "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.",
		}
	}
	if field, _, ok := rejectedField(body, append(azureUnknown(), c.RejectFields...)); ok {
		field = field[strings.LastIndex(field, ".")+1:]
		return ask{}, bad("", "Unrecognized request argument supplied: %s", field)
	}
	c.RejectFields = nil
	return chat{openAI{kind: azureKind()}}.read(body, c)
}

// azureMissing is the gateway's refusal of a path or version that it does not know.
func azureMissing() refusal {
	return refusal{status: http.StatusNotFound, message: "Resource not found"}
}

// refuse spells a 400 as the model does, other errors as the gateway in front of it.
func (azure) refuse(r refusal) reply {
	if r.status == http.StatusBadRequest {
		return responses{}.refuse(r)
	}
	if r.name == "" {
		r.name = strconv.Itoa(r.status)
	}
	if r.status == http.StatusUnauthorized && r.kind != "" {
		r.message = "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."
	}
	body := map[string]map[string]string{"error": {"code": r.name, "message": r.message}}
	return reply{status: r.status, contentType: "application/json", body: mustJSON(body)}
}

// azureKind is how Azure OpenAI speaks: the verdict on the prompt comes with acceptance; role and finish reason have
// frames of their own.
func azureKind() *kind {
	choice := func(delta, finish string) string {
		return fmt.Sprintf(`{"content_filter_results":{},"delta":{%s},"finish_reason":%s,"index":0,"logprobs":null}`, delta, finish)
	}
	k := vllmKind()
	k.name, k.anyModel = styleAzure, true
	k.prelude = azureVerdict()
	k.chat = routeFormat{
		id:    "chatcmpl-$digits",
		chunk: `data: {"choices":[$choice],"created":$created,"id":$id,"model":$model,"object":"chat.completion.chunk","system_fingerprint":"fp_simulated"$usage}`,
		role:  choice(`"content":"","refusal":null,"role":"assistant"`, "null"),
		token: choice("$delta", "null"),
		final: choice("", "$finish"),
		delta: contentDelta, thought: thoughtDelta,
		usage: fullUsage, idle: "null", idling: true, hushed: true,
	}
	k.broken = `data: {"error":{"code":"$code","message":$message}}` + "\n\n" + doneFrame
	return &k
}

func (azure) speak(a *answer) script { return chat{openAI{kind: azureKind()}}.speak(a) }

// azureVerdict is the first frame: what the content filter says of the prompt.
func azureVerdict() string {
	var kinds []string
	for _, kind := range []string{"hate", "self_harm", "sexual", "violence"} {
		kinds = append(kinds, fmt.Sprintf(`"%s":{"filtered":false,"severity":"safe"}`, kind))
	}
	return fmt.Sprintf(`data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{%s}}]}`+"\n\n",
		strings.Join(kinds, ","))
}

// azureRoutes has no list of models. Every request wants api-version.
func (s *Server) azureRoutes() {
	var requests atomic.Uint64
	mark := func(w http.ResponseWriter) {
		w.Header().Set("Apim-Request-Id", fmt.Sprintf("00000000-0000-4000-8000-%012x", requests.Add(1)))
		w.Header().Set("X-Ms-Region", "Simulated")
	}
	for _, path := range []string{"GET /v1/models", "GET /openai/v1/models"} {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			mark(w)
			azure{}.refuse(azureMissing()).write(w)
		})
	}
	s.mux.HandleFunc("POST /openai/deployments/{d}/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		mark(w)
		if r.URL.Query().Get("api-version") == "" {
			azure{}.refuse(azureMissing()).write(w)
			return
		}
		s.compute(azure{deployment: r.PathValue("d")})(w, r)
	})
}
