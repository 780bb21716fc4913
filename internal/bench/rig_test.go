package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
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

// truncating answers with next, but counts no more than most tokens of a prompt, as a server that drops the others.
func truncating(most int, next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		next.ServeHTTP(truncatedCounts{ResponseWriter: w, most: most}, request)
	}
}

type truncatedCounts struct {
	http.ResponseWriter
	most int
}

var usageFields = regexp.MustCompile(`"prompt_tokens":(\d+),"total_tokens":(\d+)`)

// Write writes a whole frame or document.
func (w truncatedCounts) Write(frame []byte) (int, error) {
	changed := usageFields.ReplaceAllFunc(frame, func(fields []byte) []byte {
		figures := usageFields.FindSubmatch(fields)
		prompt, _ := strconv.Atoi(string(figures[1]))
		total, _ := strconv.Atoi(string(figures[2]))
		dropped := max(0, prompt-w.most)
		return fmt.Appendf(nil, `"prompt_tokens":%d,"total_tokens":%d`, prompt-dropped, total-dropped)
	})
	_, err := w.ResponseWriter.Write(changed)
	return len(frame), err
}

// Unwrap gives net/http's response controller its Flush.
func (w truncatedCounts) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A testRun is a run of a test, and what it wrote to the standard streams.
type testRun struct {
	*run

	out, errs strings.Builder
}

// newRun returns a run that has not begun. Its prompts have 80 tokens and its answers five, unless the settings, which
// are names and values, say otherwise.
func (r *rig) newRun(line CommandLine, targets []string, settings ...string) *testRun {
	r.t.Helper()
	line.Settings = map[string]string{"PROMPT_TOKENS": "80", "MAX_TOKENS": "5"}
	for pair := range slices.Chunk(settings, 2) {
		line.Settings[pair[0]] = pair[1]
	}
	for _, name := range targets {
		line.URLs = append(line.URLs, name+"=http://"+name)
	}
	line.Format = cmp.Or(line.Format, "text")
	plan, err := newPlan(line)
	if err != nil {
		r.t.Fatal(err)
	}
	result := &testRun{}
	result.run = newRun(Setup{
		Plan: plan, Files: files.New(), Dial: r.servers.Dial,
		Screen: NewScreen(&result.out, &result.errs, plan.Format), Out: &result.out,
	})
	return result
}

// newPlan returns the plan of a command line. Nothing but that is configured.
func newPlan(line CommandLine) (*Plan, error) {
	if line.Changed == nil {
		line.Changed = func(string) bool { return false }
	}
	line.Load = func(settings map[string]string) (*config.Config, error) {
		return config.Load(config.Options{Overrides: settings, URLs: line.URLs, Finite: true})
	}
	return NewPlan(line)
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

// ms returns durations of that many milliseconds.
func ms(n ...int) []time.Duration {
	var list []time.Duration
	for _, i := range n {
		list = append(list, time.Duration(i)*time.Millisecond)
	}
	return list
}
