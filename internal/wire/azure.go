package wire

import (
	"cmp"
	"encoding/json"
	"net/url"
)

// azure is Azure's own path to OpenAI's chat completions, where the model is a
// deployment. Its newer path, /openai/v1, is [chat]'s.
type azure struct{ common }

func (azure) Name() string { return "azure-openai" }

func (azure) Path(a Ask) string {
	version := cmp.Or(a.Version, "2024-10-21") // the latest that is no preview
	return "/openai/deployments/" + url.PathEscape(a.Model) + "/chat/completions?api-version=" + url.QueryEscape(version)
}

func (azure) Header(key, _ string) map[string]string {
	if key == "" {
		return nil
	}
	return map[string]string{"api-key": key}
}

func (azure) Fields() []Field {
	return []Field{FieldStreamOptions, FieldSeed, FieldTemperature, FieldMaxTokens}
}

func (azure) Body(a Ask) ([]byte, error)        { return json.Marshal(chatBody(a, azure{}.Fields())) }
func (azure) Decode(data []byte) (Delta, error) { return decodeChunk(data) }
