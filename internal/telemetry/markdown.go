package telemetry

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Markdown is the page docs/metrics.md, made from the catalog.
func Markdown() string {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("\n## Targets\n\n")
	b.WriteString("Every series also has the labels `target`, `model` and `prompt` (the name of the workload).\n\n")
	table(&b, ScopeTarget)
	b.WriteString("\n## The prober itself\n\n")
	table(&b, ScopeProber)
	b.WriteString("\n`/metrics` also has the metrics of the Go runtime (`go_…`) and of the process (`process_…`).\n")
	b.WriteString("\n## Buckets\n\n")
	buckets(&b)
	b.WriteString("\n## GenAI conventions\n\n")
	conventions(&b)
	return b.String()
}

const intro = `# Metrics

<!-- Generated from the catalog in internal/telemetry; do not edit. -->

Every metric is on ` + "`/metrics`" + ` and, if the ` + "`OTEL_*`" + ` variables configure an endpoint, sent by OTLP. The names on
` + "`/metrics`" + ` are Prometheus' translation of the OTLP names, so that one dashboard serves both. Durations are seconds on the
monotonic clock, from the moment the request is handed to the transport. A probe that was canceled because the prober
stopped is not recorded. All series of a target exist, at zero, from the start (on OTLP all but the histograms, which
OpenTelemetry cannot send empty), and end when the target is removed.
`

// table is one row for every metric of a scope.
func table(b *strings.Builder, scope Scope) {
	b.WriteString("| on `/metrics` | by OTLP | kind | unit | labels | meaning |\n|---|---|---|---|---|---|\n")
	for _, i := range Catalog() {
		if i.Scope == scope {
			fmt.Fprintf(b, "| `%s` | `%s` | %s | %s | %s | %s |\n",
				i.PrometheusName(), i.Name, i.Kind, code(i.Unit), labelText(i.Labels), i.Help)
		}
	}
}

// labelText is the labels with the values that they can have.
func labelText(labels []Label) string {
	var all []string
	for _, l := range labels {
		if l.Values == nil {
			all = append(all, fmt.Sprintf("`%s` (%s)", l.Name, l.From))
			continue
		}
		var values []string
		for _, v := range l.Values {
			values = append(values, cmp.Or(code(v), "absent"))
		}
		all = append(all, fmt.Sprintf("`%s`: %s", l.Name, strings.Join(values, ", ")))
	}
	return strings.Join(all, "; ")
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// buckets describes the resolution of histograms.
func buckets(b *strings.Builder) {
	fmt.Fprintf(b, `Native histograms have schema %d, 16 buckets to a power of two, each 4.4%% wide; a zero threshold of 2^-13 s (122 µs), the read
delay of 2^-17 s (7.6 µs); at most %d buckets, beyond which a series that is older than %s starts again and a younger one
halves its resolution. OTLP sends base-2 exponential histograms of scale %d with at most %d buckets, which span 122 µs to
128 s, the read delay's 7.6 µs to 8 s; values up to the threshold are recorded as 0, so that both agree bucket for bucket.
Values beyond that range lower the scale of an OTLP series, under cumulative temporality permanently. Exemplars carry the
probe's trace: on TTFT, TPOT, E2EL and max gap, and on the longest gap of a probe in ITL and chunk gap.

`+"`/metrics`"+` has classic buckets beside the native ones: Prometheus scrapes native histograms only with
`+"`scrape_native_histograms: true`"+`.

| histogram | upper bounds in seconds |
|---|---|
`, exponentialScale, nativeBuckets, "an hour", exponentialScale, exponentialSize)
	var all []string // bounds, in the order of the catalog
	with := map[string][]string{}
	for _, i := range Catalog() {
		if i.Scope == ScopeGenAI || i.Kind != Histogram {
			continue
		}
		bounds := boundsText(i.Bounds)
		if with[bounds] == nil {
			all = append(all, bounds)
		}
		with[bounds] = append(with[bounds], code(i.PrometheusName()))
	}
	for _, bounds := range all {
		fmt.Fprintf(b, "| %s | %s |\n", strings.Join(with[bounds], ", "), bounds)
	}
}

func boundsText(bounds []float64) string {
	var all []string
	for _, b := range bounds {
		all = append(all, strconv.FormatFloat(b, 'f', -1, 64))
	}
	return strings.Join(all, " ")
}

// conventions is the table of the GenAI metrics.
func conventions(b *strings.Builder) {
	b.WriteString("By OTLP only, unless `PROBER_GENAI_SEMCONV=off`: the client metrics of the OpenTelemetry GenAI conventions of semconv v1.41,\n" +
		"with their advised explicit bounds, too coarse to see a gap between tokens change. Every series has the attributes\n" +
		"`gen_ai.operation.name`, `gen_ai.provider.name`, `gen_ai.request.model`, `server.address`, `server.port` and\n" +
		"`user_agent.synthetic.type=test`.\n\n" +
		"| metric | unit | attributes | meaning | bounds |\n|---|---|---|---|---|\n")
	for _, i := range Catalog() {
		if i.Scope == ScopeGenAI {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", i.Name, code(i.Unit), labelText(i.Labels), i.Help, boundsText(i.Bounds))
		}
	}
}
