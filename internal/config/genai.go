package config

import (
	"strings"

	"github.com/llm-prober/prober/internal/usage"
)

// GenAI says which version of the OpenTelemetry GenAI conventions to follow on OTLP, beside the prober's own names. The
// conventions change without compatibility, so that only a version says which names come out.
type GenAI string

// The versions.
const (
	GenAIOff GenAI = "off"
	GenAI141 GenAI = "v1.41" // of semconv v1.41.0, the last release with these conventions
)

// UnmarshalText reads off or a version. The word on means the newest version. Upper and lower case are the same.
func (g *GenAI) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "off", "false":
		*g = GenAIOff
	case "v1.41", "on", "true":
		*g = GenAI141
	default:
		return usage.Problem{Text: "not a version that the prober knows"}
	}
	return nil
}
