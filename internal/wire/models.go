package wire

import (
	"bytes"
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
	Unloaded bool // the server says that it is not in memory: the first request loads it
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

// ParseModels reads a list of models: whatever has ids. It may be a list or an object of ids with their descriptions,
// bare or within another object; its entries are objects or texts. The index of Triton's repository and TGI's
// description of itself are lists as well. ok is false if the reply has no ids and is no empty list. Of Triton's
// ensembles it lists all parts that are ready.
func ParseModels(reply []byte) (models []Model, ok bool) {
	reply = bytes.TrimPrefix(reply, []byte("\ufeff")) // a byte order mark
	if !json.Valid(reply) {
		return nil, false
	}
	models, ok = modelsIn(bytes.TrimSpace(reply), 0)
	return models, ok || len(models) > 0
}

// modelLists are the keys of an object that may hold the list of models, in the order of looking. The list is only
// read.
var modelLists = []string{
	"data", "models", "result", "results", "response", "items", "list", "model_list", "available_models", "modelSummaries",
}

// modelsIn returns the models in a value; isList says that it is a list, which may be empty.
func modelsIn(value []byte, depth int) (models []Model, isList bool) {
	const deepest = 3 // {"result":{"data":{"models":[…]}}}
	if len(value) == 0 || depth > deepest {
		return nil, false
	}
	if value[0] == '{' {
		return modelsInObject(value, depth)
	}
	entries := 0
	eachElement(value, func(entry []byte) {
		entries++
		isList = isList || modelID(entry) != ""
		models = appendUsable(models, entry, "")
	})
	isEmpty := value[0] == '[' && entries == 0
	return models, isList || isEmpty
}

// modelsInObject does what [modelsIn] does for an object: one model, an object that holds the list, or models by their
// ids.
func modelsInObject(value []byte, depth int) (models []Model, isList bool) {
	isTGI := memberOf(value, "model_id") != nil && countAt(value, "max_total_tokens").N > 0
	if isModel(value) || isTGI {
		return appendUsable(nil, value, ""), true
	}
	for _, name := range modelLists {
		inner := memberOf(value, name)
		found, ok := modelsIn(inner, depth+1)
		if len(found) > 0 {
			return found, true
		}
		isEmptyOfOllama := string(inner) == "null" && string(stringIn(memberOf(value, "object"))) == "list"
		isList = isList || ok || isEmptyOfOllama
	}
	eachField(value, func(id, info []byte) {
		describes := isModel(info) || modelEntry(info, "").Limits != (Limits{})
		isEntry := depth > 0 && len(info) > 0 && info[0] == '{' && modelID(info) != "" // else it may be an error
		if describes || isEntry {
			models = appendUsable(models, info, string(id))
		}
	})
	return models, isList || len(models) > 0
}

// isModel reports whether an object says that it describes a model.
func isModel(value []byte) bool {
	return string(stringIn(memberOf(value, "object"))) == "model" || memberOf(value, "owned_by") != nil
}

// appendUsable appends the model of an entry, if its name can be a label and it is ready.
func appendUsable(models []Model, entry []byte, id string) []Model {
	const longestName = 512 // bytes
	m := modelEntry(entry, id)
	notReady := []string{"UNAVAILABLE", "LOADING", "UNLOADING", "UNKNOWN"} // of Triton
	state := string(stringIn(memberOf(entry, "state")))
	if m.ID == "" || len(m.ID) > longestName || slices.Contains(notReady, state) {
		return models
	}
	return append(models, m)
}

// modelID returns the id of a model in an entry of a list: a text, or an object with one of the names that servers have
// for it. The name of a model that has an id as well is one for people.
func modelID(entry []byte) string {
	if stringIn(entry) != nil {
		return unquote(entry)
	}
	for _, name := range []string{"id", "model", "model_id", "modelId", "model_name", "slug", "name"} {
		id := memberOf(entry, name)
		if len(stringIn(id)) > 0 {
			return unquote(id)
		}
	}
	return ""
}

// modelEntry reads an entry of a list of models, with the names that servers have for its limits. The key under which
// it stands is its id if it has no other.
func modelEntry(entry []byte, key string) Model {
	count := func(name string) int { return countAt(entry, name).N }
	m := Model{ID: cmp.Or(modelID(entry), key)}
	m.Context = cmp.Or(
		count("max_model_len"),  // vLLM, SGLang
		count("context_window"), // Dynamo, Groq
		count("context_length"), // OpenRouter, Together
		countAt(memberOf(entry, "metadata"), "max_request_context_length").N, // Ray Serve
		count("max_context_length"), // LM Studio, Mistral
		count("context_size"),
		count("max_total_tokens"), // TGI
	)
	input := cmp.Or(count("max_input_tokens"), count("max_input_length"), count("inputTokenLimit"))
	if count("max_total_tokens") > 0 { // TGI has both, LiteLLM calls the context so
		m.Input = input
	} else {
		m.Context = cmp.Or(m.Context, input)
	}
	status := memberOf(entry, "status") // llama-server's router
	residence := cmp.Or(string(stringIn(memberOf(status, "value"))), string(stringIn(status)),
		string(stringIn(memberOf(entry, "state")))) // LM Studio
	m.Unloaded = residence == "unloaded" || residence == "not-loaded"
	return m
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
