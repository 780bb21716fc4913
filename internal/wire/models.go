package wire

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
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

// ParseVersion returns the version in a reply, of any length; empty if there is none.
func ParseVersion(reply []byte) string {
	value, _ := parseJSON(reply)
	return strings.ToValidUTF8(member(value, "version").Str, "�")
}

// ParseModels reads the models that a server lists: whatever has ids. The reply is a list of objects or texts, or an
// object of ids with their descriptions, bare or within another object. The index of Triton's repository and TGI's
// description of itself are such replies as well. ok is false if the reply has no ids and is no empty list. Of Triton's
// ensembles it returns all parts that are ready.
func ParseModels(reply []byte) (models []Model, ok bool) {
	reply = bytes.TrimPrefix(reply, []byte("\ufeff")) // a byte order mark
	value, isJSON := parseJSON(reply)
	if !isJSON {
		return nil, false
	}
	models, ok = modelsIn(value, 0)
	return models, ok || len(models) > 0
}

// modelLists are the keys of an object that may hold the list of models, in the order of looking. The list is only
// read.
var modelLists = []string{
	"data", "models", "result", "results", "response", "items", "list", "model_list", "available_models", "modelSummaries",
}

// modelsIn returns the models in a value; isList says that it is a list, which may be empty.
func modelsIn(value gjson.Result, depth int) (models []Model, isList bool) {
	const deepest = 3 // {"result":{"data":{"models":[…]}}}
	switch {
	case depth > deepest:
		return nil, false
	case value.IsObject():
		return modelsInObject(value, depth)
	}
	isList = value.IsArray() && elementCount(value) == 0
	for entry := range elementsOf(value) {
		isList = isList || modelID(entry) != ""
		models = appendUsable(models, entry, "")
	}
	return models, isList
}

// modelsInObject does what [modelsIn] does for an object: one model, an object that holds the list, or models by their
// ids.
func modelsInObject(value gjson.Result, depth int) (models []Model, isList bool) {
	isTGI := member(value, "model_id").Exists() && countIn(member(value, "max_total_tokens")).N > 0
	if isModel(value) || isTGI {
		return appendUsable(nil, value, ""), true
	}
	for _, name := range modelLists {
		inner := member(value, name)
		found, ok := modelsIn(inner, depth+1)
		if len(found) > 0 {
			return found, true
		}
		isEmptyOfOllama := inner.Raw == "null" && member(value, "object").Str == "list"
		isList = isList || ok || isEmptyOfOllama
	}
	for id, info := range fieldsOf(value) {
		describes := isModel(info) || modelEntry(info, "").Limits != (Limits{})
		isEntry := depth > 0 && info.IsObject() && modelID(info) != "" // else it may be an error
		if describes || isEntry {
			models = appendUsable(models, info, id)
		}
	}
	return models, isList || len(models) > 0
}

// isModel reports whether an object says that it describes a model.
func isModel(value gjson.Result) bool {
	return member(value, "object").Str == "model" || member(value, "owned_by").Exists()
}

// appendUsable appends the model of an entry, if its name can be a label and it is ready.
func appendUsable(models []Model, entry gjson.Result, id string) []Model {
	const longestName = 512 // bytes
	m := modelEntry(entry, id)
	notReady := []string{"UNAVAILABLE", "LOADING", "UNLOADING", "UNKNOWN"} // of Triton
	state := member(entry, "state").Str
	if m.ID == "" || len(m.ID) > longestName || slices.Contains(notReady, state) {
		return models
	}
	return append(models, m)
}

// modelID returns the id of a model in an entry of a list: a text, or an object with one of the names that servers have
// for it. The name of a model that has an id as well is one for people.
func modelID(entry gjson.Result) string {
	id := entry.Str
	for _, name := range []string{"id", "model", "model_id", "modelId", "model_name", "slug", "name"} {
		id = cmp.Or(id, member(entry, name).Str)
	}
	return strings.ToValidUTF8(id, "�")
}

// modelEntry reads an entry of a list of models, with the names that servers have for its limits. The key under which
// it stands is its id if it has no other.
func modelEntry(entry gjson.Result, key string) Model {
	count := func(path ...string) int { return countIn(member(entry, path...)).N }
	m := Model{ID: cmp.Or(modelID(entry), key)}
	m.Context = cmp.Or(
		count("max_model_len"),                          // vLLM, SGLang
		count("context_window"),                         // Dynamo, Groq
		count("context_length"),                         // OpenRouter, Together
		count("metadata", "max_request_context_length"), // Ray Serve
		count("max_context_length"),                     // LM Studio, Mistral
		count("context_size"),
		count("max_total_tokens"), // TGI
	)
	input := cmp.Or(count("max_input_tokens"), count("max_input_length"), count("inputTokenLimit"))
	if count("max_total_tokens") > 0 { // TGI has both
		m.Input = input
	} else { // LiteLLM and others mean the context
		m.Context = cmp.Or(m.Context, input)
	}
	residence := cmp.Or(
		member(entry, "status", "value").Str, // llama-server's router
		member(entry, "status").Str,
		member(entry, "state").Str, // LM Studio
	)
	m.Unloaded = residence == "unloaded" || residence == "not-loaded"
	return m
}

// ParseLoaded returns the context that a server has given to a model in memory. The reply is a list of the models in
// memory, as Ollama's /api/ps. It returns 0 if the model is not in it.
func ParseLoaded(reply []byte, model string) int {
	value, _ := parseJSON(reply)
	for m := range elementsOf(member(value, "models")) {
		name := member(m, "name").Str
		if name == model || name == model+":latest" {
			return countIn(member(m, "context_length")).N
		}
	}
	return 0
}

// ParseDescription returns the longest context that a model can be given. The reply describes the model, as Ollama's
// /api/show: its parameters may bound the context, else it is what the model was trained with. It returns 0 if there is
// neither. Once the model is loaded, the server may give it less.
func ParseDescription(reply []byte) int {
	value, _ := parseJSON(reply)
	for line := range strings.Lines(member(value, "parameters").Str) { // each is a name and a value
		words := strings.Fields(line)
		if len(words) == 2 && words[0] == "num_ctx" {
			return countOf(words[1]).N
		}
	}
	info := member(value, "model_info")
	architecture := member(info, "general.architecture").Str
	return countIn(member(info, architecture+".context_length")).N
}
