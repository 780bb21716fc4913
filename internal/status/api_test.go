package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

// outcomes asks for results, one on each line, and returns their targets and outcomes.
func outcomes(t *testing.T, b *Board, parameters string) string {
	t.Helper()
	var words []string
	for line := range strings.Lines(get(t, b, "/api/v1/results?format=jsonl&"+parameters).Body.String()) {
		var a report.ResultJSON
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		words = append(words, a.Target+" "+string(a.Outcome))
	}
	return strings.Join(words, ", ")
}

func TestResultsAreFiltered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBoard("a", "b")
		for _, r := range []func() *probe.Result{
			func() *probe.Result { return success("a", 10*ms, 20*ms) },
			func() *probe.Result { return success("b", 30*ms, 40*ms) },
			func() *probe.Result { return broken("a", probe.DNS, "no <such> host") },
			func() *probe.Result { return broken("b", probe.Timeout, "too slow") },
			func() *probe.Result { return success("a", 50*ms, 60*ms) },
		} {
			b.Record(r())
			time.Sleep(time.Second)
		}
		for parameters, want := range map[string]string{
			"":                            "a ok, b timeout, a dns, b ok, a ok",
			"target=a":                    "a ok, a dns, a ok",
			"target=a&target=b&limit=2":   "a ok, b timeout",
			"outcome=ok":                  "a ok, b ok, a ok",
			"outcome=failed":              "b timeout, a dns",
			"outcome=failed&target=b":     "b timeout",
			"outcome=dns&outcome=ok":      "a ok, a dns, b ok, a ok",
			"outcome=stalled":             "",
			"limit=1000&target=&outcome=": "a ok, b timeout, a dns, b ok, a ok",
			"limit=1&unknown=x":           "a ok",
		} {
			equal(t, parameters, outcomes(t, b, parameters), want)
		}
		setPrompts(b, "a", "short", "rag")
		b.Record(asking(broken("a", probe.Stalled, "no token"), "rag"))
		time.Sleep(time.Second)
		b.Record(asking(success("a", ms), "short"))
		for parameters, want := range map[string]string{
			"prompt=rag":              "a stalled",
			"prompt=rag&prompt=short": "a ok, a stalled",
			"prompt=cold&target=b":    "b timeout, b ok",
			"prompt=rag&target=b":     "",
			"prompt=&limit=1":         "a ok",
		} {
			equal(t, parameters, outcomes(t, b, parameters), want)
		}
		for range 150 {
			b.Record(success("a", ms))
		}
		equal(t, "results by default", strings.Count(outcomes(t, b, ""), "ok"), defaultLimit)
	})
}

// TestSharesOfResultsAreRight holds that an answer that may have successes has only the last results: the failures that
// outlived them would count too much. Who asks for failures gets those as well.
func TestSharesOfResultsAreRight(t *testing.T) {
	b := newTestBoard("a")
	for range 40 {
		b.Record(broken("a", probe.Stalled, "no token for 10 s"))
	}
	for range ringSize - 8 {
		b.Record(success("a", ms))
	}
	for parameters, want := range map[string][2]int{
		"":                           {8, ringSize - 8},
		"outcome=ok":                 {0, ringSize - 8},
		"outcome=ok&outcome=stalled": {8, ringSize - 8},
		"outcome=failed":             {failedSize, 0},
		"outcome=stalled":            {failedSize, 0},
	} {
		got := outcomes(t, b, "limit=1000&"+parameters)
		equal(t, parameters, [2]int{strings.Count(got, "stalled"), strings.Count(got, "ok")}, want)
	}
}

// TestTheNewestResultIsFirst holds that results are in the order of their starts, the newest first.
func TestTheNewestResultIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := success("a", 10*ms, 20*ms)
		time.Sleep(time.Second)
		second := broken("a", probe.Unauthorized, "HTTP 401: <b>no</b>")
		second.Warnings = append(second.Warnings, probe.Warning{Kind: probe.WarnCompressed, Words: second.Err.Error()})
		b := boardOf(second)
		time.Sleep(time.Second)
		b.Record(first) // it took longer

		list := []report.ResultJSON{report.JSONOf(second, nil), report.JSONOf(first, nil)}
		list[0].Notable = []string{"unauthorized"}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(get(t, b, "/api/v1/results?format=json").Body.String(), "\n", "")
		equal(t, "answer", got, `{"status":"success","data":{"results":`+string(text)+"}}")
	})
}

func TestNoResults(t *testing.T) {
	b := newTestBoard()
	equal(t, "JSON", get(t, b, "/api/v1/results").Body.String(), `{"status":"success","data":{"results":[]}}`+"\n")
	w := get(t, b, "/api/v1/results?format=jsonl")
	equal(t, "lines", w.Body.String(), "")
	equal(t, "their type", w.Header().Get("Content-Type"), "application/x-ndjson; charset=utf-8")
}

func TestBadParameters(t *testing.T) {
	const known = "failed, ok, dns, connect, tls, timeout, stalled, unauthorized, rate_limited, overloaded, " +
		"rejected, server_error, " +
		"filtered, truncated, malformed, not_streamed, empty, wrong_length, wrong_answer"
	for parameters, want := range map[string]string{
		"?limit=0":                    `invalid parameter "limit": "0": want a number from 1 to 1000`,
		"?limit=1001":                 `invalid parameter "limit": "1001": want a number from 1 to 1000`,
		"?limit=ten":                  `invalid parameter "limit": "ten": want a number from 1 to 1000`,
		"?format=xml":                 `invalid parameter "format": "xml": want one of json, jsonl`,
		"?outcome=ok&outcome=maybe":   `invalid parameter "outcome": "maybe": want one of ` + known,
		"?target=%3Cscript%3E":        `invalid parameter "target": "<script>": want one of a, b`,
		"?target=a&prompt=rag":        `invalid parameter "prompt": "rag": want one of cold`,
		"?target=c&format=x&limit=-1": `invalid parameter "target": "c": want one of a, b`,
	} {
		w := get(t, newTestBoard("a", "b"), "/api/v1/results"+parameters)
		var got map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusBadRequest {
			t.Fatalf("%s: %d, %v: %s", parameters, w.Code, err, w.Body)
		}
		equal(t, parameters, got, map[string]string{"status": "error", "errorType": "bad_data", "error": want})
	}
	b := newTestBoard()
	b.RejectTarget("a", nil, usage.Problems{{Text: "is wrong"}})
	if w := get(t, b, "/api/v1/results?prompt=a"); !strings.Contains(w.Body.String(), "want one of the prompts: there is none yet") {
		t.Errorf("without prompts: %s", w.Body)
	}
	if w := get(t, newTestBoard(), "/api/v1/results?target=a"); !strings.Contains(w.Body.String(), "there is none yet") {
		t.Errorf("without targets: %s", w.Body)
	}
}

func TestHealth(t *testing.T) {
	b := newTestBoard()
	for _, test := range []struct {
		ready bool
		path  string
		want  string
	}{
		{false, "/-/healthy", "200 Prober is Healthy.\n"},
		{true, "/-/ready", "200 Prober is Ready.\n"},
		{false, "/-/ready", "503 Prober is not Ready.\n"},
	} {
		b.SetReady(test.ready)
		w := get(t, b, test.path)
		equal(t, test.path, fmt.Sprintf("%d %s", w.Code, w.Body), test.want)
	}
	equal(t, "ready at first", get(t, newTestBoard(), "/-/ready").Code, http.StatusServiceUnavailable)
}

func TestEveryPathIsOnlyRead(t *testing.T) {
	r := success("a", ms)
	b := boardOf(r)
	b.SetReady(true)
	for _, path := range []string{
		"/", "/probes/" + r.TraceID, "/api/v1/results", "/api/v1/results/" + r.TraceID,
		"/api/v1/targets", "/api/v1/targets/a/health", "/-/healthy", "/-/ready",
	} {
		for method, want := range map[string]int{
			http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405, http.MethodDelete: 405, http.MethodOptions: 405,
		} {
			w := request(t, b, method, path)
			equal(t, method+" "+path, w.Code, want)
			headers := map[string]string{
				"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff",
				"Referrer-Policy": "same-origin", "Cache-Control": "no-store",
			}
			if want == 405 {
				headers = map[string]string{"Allow": "GET, HEAD"}
			}
			for header, part := range headers {
				if got := w.Header().Get(header); !strings.Contains(got, part) {
					t.Errorf("%s %s: %s: %q, want %q in it", method, path, header, got, part)
				}
			}
		}
	}
}

func TestOtherPathsAreNotFound(t *testing.T) {
	for _, path := range []string{"/index.html", "/probes/", "/api/v1/results/", "/-/"} {
		equal(t, path, get(t, newTestBoard(), path).Code, http.StatusNotFound)
	}
}
