package telemetry

import (
	"cmp"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// genAI returns the client metrics of the OpenTelemetry GenAI conventions of semconv v1.41.0, the last that were
// released (https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai). None of them is TPOT or
// ITL: an output chunk of the conventions is a frame.
func genAI() []Instrument {
	return []Instrument{
		{
			Name:   "gen_ai.client.operation.duration",
			Unit:   "s",
			Kind:   Histogram,
			Scope:  ScopeGenAI,
			Bounds: genAIBounds,
			Labels: []Label{{
				Name:   string(semconv.ErrorTypeKey),
				Values: append([]string{noError}, failures()...),
			}},
			Help:       "End-to-end latency of a probe in seconds, or, with error.type, the time from its start to its failure.",
			fromResult: operationDuration,
		},
		{
			Name:       "gen_ai.client.operation.time_to_first_chunk",
			Unit:       "s",
			Kind:       Histogram,
			Scope:      ScopeGenAI,
			Bounds:     genAIBounds,
			Help:       "Time to first token in seconds, the same as llm.probe.ttft.",
			fromResult: durationOf((*probe.Result).TTFT, validTTFT, withExemplar),
		},
		{
			Name:       "gen_ai.client.operation.time_per_output_chunk",
			Unit:       "s",
			Kind:       Histogram,
			Scope:      ScopeGenAI,
			Bounds:     genAIBounds,
			Help:       "Time between consecutive token frames in seconds, the same as llm.probe.chunk_gap.",
			fromResult: durationsOf((*probe.Result).ChunkGaps),
		},
		{
			Name:   "gen_ai.client.token.usage",
			Unit:   "{token}",
			Kind:   Histogram,
			Scope:  ScopeGenAI,
			Bounds: genAITokenBounds,
			Labels: []Label{{
				Name:   string(semconv.GenAITokenTypeKey),
				Values: []string{tokenInput, tokenOutput},
			}},
			Help:       "Tokens of a probe that the server reported. No sample if it reported none.",
			fromResult: tokenUsage,
		},
	}
}

// noError is the label value of a success. It has no attribute error.type: see [Instrument.attributes].
const noError = ""

// The values of the attribute gen_ai.token.type.
const (
	tokenInput  = "input"
	tokenOutput = "output"
)

// operationDuration observes the end-to-end latency of successes and the duration of failures, with their outcome.
func operationDuration(_ probe.Description, r *probe.Result, record func(sample)) {
	if !succeeded(r) {
		record(sample{labels: []string{string(r.Outcome)}, value: r.Elapsed.Seconds(), exemplar: true})
		return
	}
	d, ok := r.E2EL()
	if ok {
		record(sample{labels: []string{noError}, value: d.Seconds(), exemplar: true})
	}
}

// tokenUsage observes the tokens that the server reported.
func tokenUsage(_ probe.Description, r *probe.Result, record func(sample)) {
	recordCount(tokenInput, r.Usage.Prompt, record)
	recordCount(tokenOutput, r.Usage.Generated(), record)
}

// genAIAttributes returns the attributes of the conventions that every metric and span of a target has. They mark the
// traffic as synthetic, so that panels about real users can leave it out.
func genAIAttributes(t probe.Description) []attribute.KeyValue {
	dialect := dialectOf(t)
	all := []attribute.KeyValue{
		semconv.GenAIOperationNameKey.String(dialect.Operation),
		semconv.GenAIProviderNameKey.String(dialect.Provider),
		semconv.UserAgentSyntheticTypeTest,
	}
	if t.Model != "" {
		all = append(all, semconv.GenAIRequestModel(toValidUTF8(t.Model)))
	}
	host, port := serverOf(t.URL)
	if host != "" {
		all = append(all, semconv.ServerAddress(host), semconv.ServerPort(port))
	}
	return all
}

// sameGenAIAttributes reports whether the GenAI series of a target go on after a change of its description.
func sameGenAIAttributes(a, b probe.Description) bool {
	setA := attribute.NewSet(genAIAttributes(a)...)
	setB := attribute.NewSet(genAIAttributes(b)...)
	return setA.Equals(&setB)
}

// dialectOf returns the dialect of a target's API. As long as the API is not known, it is that of the most common one.
func dialectOf(t probe.Description) *wire.Dialect {
	dialect, err := wire.Lookup(t.API)
	if err != nil {
		dialect, _ = wire.Lookup("openai-chat")
	}
	return dialect
}

// serverOf returns the host and the port of a URL; empty and 0 if it is not valid.
func serverOf(raw string) (host string, port int) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", 0
	}
	defaultPort := "80"
	if u.Scheme == "https" {
		defaultPort = "443"
	}
	port, _ = strconv.Atoi(cmp.Or(u.Port(), defaultPort)) // [url.Parse] accepts only numbers
	return u.Hostname(), port
}
