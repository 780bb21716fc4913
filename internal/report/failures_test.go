package report

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

// TestFailuresAreGrouped holds that a summary tells each way in which requests failed once,
// how often, and what to do; and nothing of those that succeeded or were cut off.
func TestFailuresAreGrouped(t *testing.T) {
	var samples []Sample
	for _, r := range []*probe.Result{
		{Outcome: probe.OK},
		{Outcome: probe.ServerError, Status: 502, Err: errors.New("HTTP 502: a")},
		{Outcome: probe.ServerError, Status: 500, Err: errors.New("HTTP 500: b")},
		{Outcome: probe.ServerError, Status: 500, Err: errors.New("HTTP 500: c")},
		{Outcome: probe.Canceled, Err: errors.New("interrupted")},
	} {
		samples = append(samples, SampleOf(r))
	}
	want := []Failures{
		{Outcome: probe.ServerError, Requests: 2, Error: "HTTP 500: b", Hint: "check the server's log at that time"},
		{Outcome: probe.ServerError, Requests: 1, Error: "HTTP 502: a", Hint: "a proxy got no answer from the server behind it: check that server"},
	}
	if diff := cmp.Diff(want, Summarize(samples).Failures); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
