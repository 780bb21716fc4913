package test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	common "go.opentelemetry.io/proto/otlp/common/v1"
)

// histograms are the metrics that every exporter must have for every target.
var histograms = []string{"ttft", "tpot", "itl", "e2el"}

func attribute(list []*common.KeyValue, key string) string {
	for _, kv := range list {
		if kv.Key == key {
			return kv.Value.GetStringValue()
		}
	}
	return ""
}

// spent counts the targets that have skipped a slot for their budget.
func spent(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "llm_probe_skipped_total{") && strings.Contains(line, `reason="budget"`) && !strings.HasSuffix(line, " 0\n") {
			n++
		}
	}
	return n
}

func families(t *testing.T, body string, format expfmt.Format) map[string]*dto.MetricFamily {
	t.Helper()
	if format.FormatType() == expfmt.TypeTextPlain {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		all, err := parser.TextToMetricFamilies(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all, decoder := map[string]*dto.MetricFamily{}, expfmt.NewDecoder(bytes.NewReader([]byte(body)), format)
	for {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[family.GetName()] = &family
	}
}

// histogram is the histogram of a target; empty if there is none.
func histogram(all map[string]*dto.MetricFamily, name, target string) *dto.Histogram {
	for _, m := range all["llm_probe_"+name+"_seconds"].GetMetric() {
		for _, label := range m.Label {
			if label.GetName() == "target" && label.GetValue() == target {
				return m.Histogram
			}
		}
	}
	return &dto.Histogram{}
}
