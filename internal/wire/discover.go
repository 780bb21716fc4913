package wire

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// ModelsPath is that of the OpenAI list of models.
const ModelsPath = "/v1/models"

// Prefixes are what may stand before [ModelsPath], in the order of asking.
func Prefixes() []string { return []string{"", openAIPrefix} }

// ParseVersion reads a reply that tells a version; it is empty if it does not.
func ParseVersion(reply []byte) string {
	var r struct{ Version string }
	if json.Unmarshal(reply, &r) != nil || len(r.Version) > 60 {
		return ""
	}
	return r.Version
}

// A Model is one entry of a server's list.
type Model struct {
	ID string
	Limits
}

// A ModelList is a route that lists a server's models.
type ModelList struct{ Method, Path string }

// ParseModels reads a list of models: OpenAI's, the index of Triton's repository, or TGI's description of itself. ok is false
// if the reply is none. Of Triton's ensembles all parts are listed; the first that is ready is taken for what users ask for.
func ParseModels(reply []byte) (models []Model, ok bool) {
	var list struct {
		Object string `json:"object"`
		Data   []struct {
			ID       string          `json:"id"`
			MaxLen   json.RawMessage `json:"max_model_len"`    // vLLM, SGLang
			Window   json.RawMessage `json:"context_window"`   // Dynamo, Groq
			Length   json.RawMessage `json:"context_length"`   // OpenRouter
			MaxInput json.RawMessage `json:"max_input_tokens"` // LiteLLM
			Metadata json.RawMessage `json:"metadata"`         // Ray Serve
		} `json:"data"`
		TGI      string          `json:"model_id"`
		MaxTotal json.RawMessage `json:"max_total_tokens"`
		MaxInput json.RawMessage `json:"max_input_tokens"`
		OldInput json.RawMessage `json:"max_input_length"` // before TGI 2
	}
	var repository []struct{ Name, State string }
	switch {
	case json.Unmarshal(reply, &repository) == nil:
		for _, m := range repository {
			if m.State == "" || m.State == "READY" {
				models = append(models, Model{ID: m.Name})
			}
		}
	case json.Unmarshal(reply, &list) != nil:
		return nil, false
	case list.TGI != "" && list.MaxTotal != nil:
		input := cmp.Or(countIn(list.MaxInput).N, countIn(list.OldInput).N)
		models = []Model{{list.TGI, Limits{Context: countIn(list.MaxTotal).N, Input: input}}}
	}
	for _, m := range list.Data {
		longest := cmp.Or(
			countIn(m.MaxLen).N, countIn(m.Window).N, countIn(m.Length).N,
			detail(m.Metadata, "max_request_context_length").N, countIn(m.MaxInput).N,
		)
		models = append(models, Model{m.ID, Limits{Context: longest}})
	}
	const longestName = 512 // the model becomes a label
	models = slices.DeleteFunc(models, func(m Model) bool { return m.ID == "" || len(m.ID) > longestName })
	return models, len(models) > 0 || list.Data != nil || list.Object == "list" // Ollama's empty list is null
}

// ParseLoaded returns the context of a model by a list of those in memory, as Ollama's /api/ps; 0 if the model is not
// among them.
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

// ParseDescription returns the longest context of a model by its description, as Ollama's /api/show: the one that its
// parameters set, else what the model was trained with; 0 if it tells none. What the server gives it once it is
// loaded may be shorter.
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

// Rejected returns the fields of a request of d that a reply of 400 or 422 names, without those in omitted: the
// server does not know them, and may answer a request without them.
func Rejected(d *Dialect, reply []byte, omitted []Field) []Field {
	text := aside.Split(string(reply), 2)[0]
	const second = FieldMaxCompletionTokens
	sent := slices.Contains(d.Fields, second) && !slices.Contains(omitted, second)
	if sent && duplicate.MatchString(text) {
		return []Field{second}
	}
	words := regexp.MustCompile(`\w+`).FindAllString(text, -1)
	named := func(f Field) bool { return slices.Contains(words, string(f)) || slices.Contains(words, aliases[f]) }
	instead := named(FieldMaxTokens) && named(FieldMaxCompletionTokens) && strings.Contains(text, "nsupported")
	rejected := slices.DeleteFunc(slices.Clone(d.Fields), func(f Field) bool {
		switch {
		case slices.Contains(omitted, f):
			return true
		case f == FieldMaxTokens: // complaints are about its value, unless they name what to send instead
			return !instead
		case f == FieldMaxCompletionTokens && (instead || strings.Contains(text, "too large")):
			return true
		}
		return !named(f)
	})
	if slices.Contains(rejected, FieldContinuousUsage) { // it lies in stream_options: the complaint gives the path
		rejected = slices.DeleteFunc(rejected, func(f Field) bool { return f == FieldStreamOptions })
	}
	return rejected
}

// aside is what may follow a complaint: a list of all fields that the server knows (serde), or the request (pydantic).
var aside = regexp.MustCompile(`expected one of|"input":|'input':|\\"input\\":`)

// duplicate is how a server complains to which both names of an answer's limit are one field (serde, TGI).
var duplicate = regexp.MustCompile("duplicate field `(max_tokens|max_completion_tokens)`")

// aliases are the names that some servers know a field by. The list is only read.
var aliases = map[Field]string{
	FieldMinTokens: "min_new_tokens", // SGLang, LMDeploy
	FieldCacheSalt: "extra_key",      // SGLang
}
