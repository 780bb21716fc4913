package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// ModelsPath is the path of OpenAI's list of models.
const ModelsPath = "/v1/models"

// Prefixes returns what may stand before [ModelsPath], in the order of asking.
func Prefixes() []string { return []string{"", openAIPrefix} }

// A Model is one entry of a server's list.
type Model struct {
	ID string
	Limits
}

// A ModelList is a route that lists a server's models.
type ModelList struct{ Method, Path string }

// ParseVersion returns the version in a reply; empty if there is none.
func ParseVersion(reply []byte) string {
	const longest = 60 // bytes
	var r struct{ Version string }
	if json.Unmarshal(reply, &r) != nil || len(r.Version) > longest {
		return ""
	}
	return r.Version
}

// ParseModels reads a list of models: OpenAI's, the index of Triton's repository, or TGI's description of itself. ok is
// false if the reply is none of these. Of Triton's ensembles it lists all parts that are ready.
func ParseModels(reply []byte) (models []Model, ok bool) {
	index, isIndex := parseIndex(reply)
	if isIndex {
		models = usableModels(index)
		return models, len(models) > 0
	}
	var list modelReply
	if json.Unmarshal(reply, &list) != nil {
		return nil, false
	}
	models = usableModels(list.models())
	isList := list.Data != nil || list.Object == "list" // Ollama's empty list has null for data
	return models, isList || len(models) > 0
}

// usableModels returns the models with a name that can be a label.
func usableModels(models []Model) []Model {
	const longestName = 512 // bytes
	return slices.DeleteFunc(models, func(m Model) bool { return m.ID == "" || len(m.ID) > longestName })
}

// parseIndex reads the index of Triton's repository, without models that are not ready. ok is false if the reply is
// not a list.
func parseIndex(reply []byte) (models []Model, ok bool) {
	var entries []struct{ Name, State string }
	if json.Unmarshal(reply, &entries) != nil {
		return nil, false
	}
	for _, m := range entries {
		if m.State == "" || m.State == "READY" {
			models = append(models, Model{ID: m.Name})
		}
	}
	return models, true
}

// A modelReply is OpenAI's list of models, or TGI's description of itself.
type modelReply struct {
	Object string       `json:"object"`
	Data   []modelEntry `json:"data"`

	// TGI
	ID       string          `json:"model_id"`
	MaxTotal json.RawMessage `json:"max_total_tokens"`
	MaxInput json.RawMessage `json:"max_input_tokens"`
	OldInput json.RawMessage `json:"max_input_length"` // before TGI 2
}

// A modelEntry is an entry of OpenAI's list, with the names that servers have for the context.
type modelEntry struct {
	ID       string          `json:"id"`
	MaxLen   json.RawMessage `json:"max_model_len"`    // vLLM, SGLang
	Window   json.RawMessage `json:"context_window"`   // Dynamo, Groq
	Length   json.RawMessage `json:"context_length"`   // OpenRouter
	MaxInput json.RawMessage `json:"max_input_tokens"` // LiteLLM
	Metadata json.RawMessage `json:"metadata"`         // Ray Serve
}

// models returns the models in the reply.
func (r modelReply) models() []Model {
	var models []Model
	if r.ID != "" && r.MaxTotal != nil {
		models = append(models, Model{ID: r.ID, Limits: Limits{
			Context: countIn(r.MaxTotal).N,
			Input:   cmp.Or(countIn(r.MaxInput).N, countIn(r.OldInput).N),
		}})
	}
	for _, m := range r.Data {
		models = append(models, Model{ID: m.ID, Limits: Limits{Context: m.context()}})
	}
	return models
}

// context returns the longest context in an entry; 0 if it has none.
func (m modelEntry) context() int {
	return cmp.Or(
		countIn(m.MaxLen).N,
		countIn(m.Window).N,
		countIn(m.Length).N,
		countAt(m.Metadata, "max_request_context_length").N,
		countIn(m.MaxInput).N,
	)
}

// ParseLoaded returns the context that a server has given to a model in memory. The reply is a list of the models in
// memory, as Ollama's /api/ps. It returns 0 if the model is not in it.
func ParseLoaded(reply []byte, model string) int {
	var list struct {
		Models []struct {
			Name    string          `json:"name"`
			Context json.RawMessage `json:"context_length"`
		} `json:"models"`
	}
	if json.Unmarshal(reply, &list) != nil {
		return 0
	}
	for _, m := range list.Models {
		if m.Name == model || m.Name == model+":latest" {
			return countIn(m.Context).N
		}
	}
	return 0
}

// ParseDescription returns the longest context that a model can be given. The reply describes the model, as Ollama's
// /api/show: its parameters may bound the context, else it is what the model was trained with. It returns 0 if there is
// neither. Once the model is loaded, the server may give it less.
func ParseDescription(reply []byte) int {
	var description struct {
		Parameters string                     `json:"parameters"` // lines of a name and a value
		Info       map[string]json.RawMessage `json:"model_info"`
	}
	if json.Unmarshal(reply, &description) != nil {
		return 0
	}
	for line := range strings.Lines(description.Parameters) {
		words := strings.Fields(line)
		if len(words) == 2 && words[0] == "num_ctx" {
			return countIn([]byte(words[1])).N
		}
	}
	architecture := unquote(description.Info["general.architecture"])
	return countIn(description.Info[architecture+".context_length"]).N
}
