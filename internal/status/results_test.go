package status

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

// results asks for results that must be there.
func results(t *testing.T, b *Board, parameters string) []probe.Account {
	t.Helper()
	w := get(t, b, "/api/v1/results"+parameters)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var answer struct {
		Status string
		Data   struct{ Results []probe.Account }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Status != "success" {
		t.Fatalf("status %q, %v: %s", answer.Status, err, w.Body)
	}
	return answer.Data.Results
}

// mixed is a board with two targets and a result of each kind, a second apart.
func mixed() *Board {
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
	return b
}

func TestResultsAreAccountsNewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBoard("a")
		first := success("a", 10*ms, 20*ms)
		time.Sleep(time.Second)
		second := broken("a", probe.Rejected, "HTTP 401: <b>no</b>")
		second.Warnings = append(second.Warnings, second.Err)
		b.Record(second)
		b.Record(first) // it took longer

		got := results(t, b, "")
		want := []probe.Account{jsonRound(t, second.Account()), jsonRound(t, first.Account())}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// jsonRound is what JSON leaves of an account: a time without its monotonic clock.
func jsonRound(t *testing.T, a probe.Account) probe.Account {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back probe.Account
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func TestResultsAreFiltered(t *testing.T) {
	for parameters, want := range map[string]string{
		"":                             "a ok, b timeout, a dns, b ok, a ok",
		"?target=a":                    "a ok, a dns, a ok",
		"?target=a&target=b&limit=2":   "a ok, b timeout",
		"?outcome=ok":                  "a ok, b ok, a ok",
		"?outcome=failed":              "b timeout, a dns",
		"?outcome=failed&target=b":     "b timeout",
		"?outcome=dns&outcome=ok":      "a ok, a dns, b ok, a ok",
		"?outcome=stalled":             "",
		"?limit=1000&target=&outcome=": "a ok, b timeout, a dns, b ok, a ok",
		"?limit=1&unknown=x":           "a ok",
		"?format=json&limit=1":         "a ok",
	} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			for _, a := range results(t, mixed(), parameters) {
				got = append(got, a.Target+" "+string(a.Outcome))
			}
			if got := strings.Join(got, ", "); got != want {
				t.Errorf("%s: %s, want %s", parameters, got, want)
			}
		})
	}
}

func TestResultsAreLimitedByDefault(t *testing.T) {
	b := newTestBoard("a")
	for range 150 {
		b.Record(success("a", ms))
	}
	if got := len(results(t, b, "")); got != defaultLimit {
		t.Errorf("%d results, want %d", got, defaultLimit)
	}
}

func TestResultsByLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := get(t, mixed(), "/api/v1/results?format=jsonl&target=a")
		var got []string
		lines := bufio.NewScanner(w.Body)
		for lines.Scan() {
			var a probe.Account
			if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
				t.Fatalf("line %q: %v", lines.Text(), err)
			}
			got = append(got, string(a.Outcome))
		}
		if diff := cmp.Diff([]string{"ok", "dns", "ok"}, got); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})
}

func TestNoResults(t *testing.T) {
	b := newTestBoard()
	if got, want := get(t, b, "/api/v1/results").Body.String(), `{"status":"success","data":{"results":[]}}`+"\n"; got != want {
		t.Errorf("without results: %s, want %s", got, want)
	}
	if got := get(t, b, "/api/v1/results?format=jsonl").Body.String(); got != "" {
		t.Errorf("no lines expected, got %q", got)
	}
}

func TestBadParameters(t *testing.T) {
	const known = "failed, ok, dns, connect, tls, timeout, stalled, rate_limited, overloaded, rejected, server_error, " +
		"filtered, truncated, malformed, not_streamed, empty, wrong_length, wrong_answer"
	for parameters, want := range map[string]string{
		"?limit=0":                    `invalid parameter "limit": "0": want a number from 1 to 1000`,
		"?limit=1001":                 `invalid parameter "limit": "1001": want a number from 1 to 1000`,
		"?limit=ten":                  `invalid parameter "limit": "ten": want a number from 1 to 1000`,
		"?format=xml":                 `invalid parameter "format": "xml": want one of json, jsonl`,
		"?outcome=bad":                `invalid parameter "outcome": "bad": want one of ` + known,
		"?outcome=ok&outcome=maybe":   `invalid parameter "outcome": "maybe": want one of ` + known,
		"?target=c":                   `invalid parameter "target": "c": want one of a, b`,
		"?target=%3Cscript%3E":        `invalid parameter "target": "<script>": want one of a, b`,
		"?target=c&format=x&limit=-1": `invalid parameter "target": "c": want one of a, b`,
	} {
		w := get(t, newTestBoard("a", "b"), "/api/v1/results"+parameters)
		var got map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v: %s", parameters, err, w.Body)
		}
		wanted := map[string]string{"status": "error", "errorType": "bad_data", "error": want}
		if diff := cmp.Diff(wanted, got); diff != "" || w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d (-want +got):\n%s", parameters, w.Code, diff)
		}
	}
	w := get(t, newTestBoard(), "/api/v1/results?target=a")
	if !strings.Contains(w.Body.String(), "there is none yet") {
		t.Errorf("without targets: %s", w.Body)
	}
}
