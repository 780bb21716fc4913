package main

import (
	"slices"
	"testing"

	"github.com/llm-prober/prober/internal/promquery"
	"github.com/llm-prober/prober/internal/telemetry"
)

// TestReportReadsMetricsThatExist holds the names it asks for against the
// catalog.
func TestReportReadsMetricsThatExist(t *testing.T) {
	var known []string
	for _, i := range telemetry.Catalog() {
		known = append(known, i.PrometheusName())
	}
	names := promquery.Metrics()
	for _, name := range names {
		if !slices.Contains(known, name) {
			t.Errorf("%s is not in the catalog", name)
		}
	}
	if len(names) < 7 {
		t.Errorf("%d names", len(names))
	}
}
