package bench

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

// A rig is simulated servers by name, in memory. It is for bubbles.
type rig struct {
	t       *testing.T
	servers *simnet.Network
}

// newRig serves a simulated server of a profile for each name until the end of the test. Each has its own seed.
func newRig(t *testing.T, profile string, names ...string) *rig {
	t.Helper()
	r := &rig{t: t, servers: simnet.New(t)}
	for _, name := range names {
		r.servers.Serve(name, profile)
	}
	return r
}

// rejecting answers requests with a field as wrong, and leaves the others to next.
func rejecting(field string, next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if bytes.Contains(body, []byte(`"`+field+`"`)) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Extra inputs are not permitted: `+field+`"}}`)
			return
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, request)
	}
}

// A testRun is a run of a test, and what it wrote to the standard streams.
type testRun struct {
	*run

	out, errs strings.Builder
}

// newRun returns a run that has not begun. Its prompts have 80 tokens and its answers five, unless the settings, which
// are names and values, say otherwise.
func (r *rig) newRun(options Options, targets []string, settings ...string) *testRun {
	r.t.Helper()
	values := map[string]string{"PROMPT_TOKENS": "80", "MAX_TOKENS": "5"}
	if options.Unpaced {
		values["QPS"] = "inf"
	}
	for pair := range slices.Chunk(settings, 2) {
		values[pair[0]] = pair[1]
	}
	var urls []string
	for _, name := range targets {
		urls = append(urls, name+"=http://"+name)
	}
	options.Format = cmp.Or(options.Format, "text")
	plan, err := Parse(CommandLine{
		Options: options, Settings: values, URLs: urls, Changed: func(string) bool { return false },
		Load: func(settings map[string]string) (*config.Config, error) {
			return config.Load(config.Options{Overrides: settings, URLs: urls})
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	result := &testRun{}
	result.run = newRun(Setup{
		Plan: plan, Files: files.New(), Dial: r.servers.Dial,
		Screen: NewScreen(&result.out, &result.errs, options.Format), Out: &result.out,
	})
	return result
}

// measure measures all groups, which must not fail, and returns the document.
func (r *testRun) measure(t *testing.T) report.Document {
	t.Helper()
	if err := r.measureAll(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, r.errs.String())
	}
	return r.document
}

// line returns the line of a quantity in a comparison.
func line(t *testing.T, c report.Comparison, metric string) report.Line {
	t.Helper()
	i := slices.IndexFunc(c.Lines, func(l report.Line) bool { return l.Metric == metric })
	if i < 0 {
		t.Fatalf("%s is not compared: %+v", metric, c)
	}
	return c.Lines[i]
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func contains(t *testing.T, what, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s does not have\n%s\nbut is\n%s", what, part, text)
	}
}

// ms returns durations of so many milliseconds.
func ms(n ...int) []time.Duration {
	var list []time.Duration
	for _, i := range n {
		list = append(list, time.Duration(i)*time.Millisecond)
	}
	return list
}
