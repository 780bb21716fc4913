package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

// source returns a source with credentials in its URL, which is asked every 90 seconds.
func source(t *testing.T, host string) config.HTTPSD {
	t.Helper()
	return load(t, "HTTP_SD_0_URL=http://me:sk-hidden@"+host+"/list?key=sk-query", "HTTP_SD_0_REFRESH=90s").HTTPSD[0]
}

// TestFetch holds how a source is asked, and what is said of each answer that is no list. Nothing of it repeats the
// credentials.
func TestFetch(t *testing.T) {
	write := func(contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			fmt.Fprint(w, body)
		}
	}
	answer := func(body string) http.HandlerFunc { return write("application/json", body) }
	const one = `[{"targets": ["a:1"]}]`
	many := strings.Repeat(`"a:1",`, maxAddresses)
	for _, test := range []struct {
		name    string
		answer  http.HandlerFunc
		want    string // how many targets, or a part of the error
		instead time.Duration
	}{
		{name: "a list", answer: answer(one), want: "1 targets"},
		{name: "an empty list", answer: answer("[]"), want: "0 targets"},
		{name: "as nginx sends it", answer: write("Application/JSON; charset=UTF-8", one), want: "1 targets"},
		{name: "another type", answer: write("text/html", one), want: `the content type is "text/html", and not application/json`},
		{name: "null", answer: answer("null"), want: "the list is null; want [] if there are no targets"},
		{name: "a page", answer: answer("<html>"), want: "the list is not JSON: invalid character '<'"},
		{name: "cut off", answer: answer(one[:9]), want: "the list is not JSON: unexpected end"},
		{name: "an object", answer: answer(`{"targets": []}`), want: "the list has a value of the wrong type, object; want a list"},
		{name: "a number as a label", answer: answer(`[{"targets": [], "labels": {"a": 5}}]`), want: "the field labels has a value"},
		{name: "a group that is null", answer: answer(`[null]`), want: "the list has null in place of a group"},
		{name: "1000 targets", answer: answer(`[{"targets": [` + many[:len(many)-1] + `]}]`), want: "1000 targets"},
		{name: "more targets", answer: answer(`[{"targets": [` + many + `"b:1"]}]`), want: "1001 targets, and at most 1000 are probed"},
		{name: "10 MiB", answer: answer(one + strings.Repeat(" ", maxList-len(one))), want: "1 targets"},
		{name: "more than 10 MiB", answer: answer(one + strings.Repeat(" ", maxList)), want: "the list has more than 10 MiB"},
		{
			name: "an error",
			answer: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, "sk-hidden is not allowed")
			},
			want: "HTTP 403 Forbidden",
		},
		{
			name: "a redirect",
			answer: func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/list" {
					http.Redirect(w, r, "/other", http.StatusFound)
				} else if r.Referer() == "" {
					answer(one)(w, r)
				}
			},
			want: "1 targets",
		},
		{
			name: "redirects without end",
			answer: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/list?sk-query", http.StatusFound)
			},
			want: "more than 10 redirects",
		},
		{
			name: "a redirect to what is no URL",
			answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://me:sk-hidden@%zz")
				w.WriteHeader(http.StatusFound)
			},
			want: "failed to parse Location header",
		},
		{name: "no answer", answer: hang, want: "no answer within 10s", instead: fetchLimit},
		{
			name: "half an answer",
			answer: func(w http.ResponseWriter, r *http.Request) {
				answer("[")(w, r)
				_ = http.NewResponseController(w).Flush()
				hang(w, r)
			},
			want: "no answer within 10s", instead: fetchLimit,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := make(chan *http.Request, 2*mostRedirects)
				listener := memconn.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					requests <- r
					test.answer(w, r)
				}))
				s := source(t, "sd")
				began := time.Now()
				found := lists{}.next(t.Context(), newFetcher(listener.Dial, "1.2.3").fetch, []config.HTTPSD{s}, always)
				got := found[s.URL.Reveal()]
				said := fmt.Sprintf("%d targets", len(got.targets))
				if got.failure != nil {
					said = got.failure.Error()
				}
				if !strings.Contains(said, test.want) || strings.Contains(said, "sk-") || time.Since(began) != test.instead {
					t.Errorf("%q after %v, want %q", said, time.Since(began), test.want)
				}
				first := <-requests
				user, password, _ := first.BasicAuth()
				asked := []string{
					user, password, first.URL.RawQuery, first.Header.Get("Accept"), first.Header.Get("User-Agent"),
					first.Header.Get("X-Prometheus-Refresh-Interval-Seconds"),
				}
				want := []string{
					"me", "sk-hidden", "key=sk-query", "application/json",
					"prober/1.2.3 (synthetic monitoring; +https://github.com/llm-prober/prober)", "90",
				}
				if diff := cmp.Diff(want, asked); diff != "" {
					t.Errorf("the request (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestASourceThatIsNotThere holds that errors of the network do not repeat the URL.
func TestASourceThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "down")
		servers.Down("down")
		for host, want := range map[string]string{"down": "dial tcp: connection refused", "gone": "lookup gone: no such host"} {
			_, err := newFetcher(servers.Dial, "").fetch(t.Context(), source(t, host))
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", host, err, want)
			}
		}
	})
}

// FuzzParseList holds that a list is read or refused, and that the order of its groups and addresses does not matter.
func FuzzParseList(f *testing.F) {
	f.Add(`[{"targets": ["b:1", "a:1"], "labels": {"team": "x"}}, {"targets": ["a:1"]}]`, uint64(1))
	f.Add(`[{"targets": ["a", "a"], "labels": {"a": "b", "c": ""}}, {"targets": ["a"], "labels": {"a": "b"}}, {}]`, uint64(2))
	f.Add(`[{"Targets": null, "labels": null, "other": [1]}]`, uint64(3))
	f.Add(`[null]`, uint64(4))
	f.Add("[{\"targets\": [\"\xff\"]}]", uint64(5))
	f.Fuzz(func(t *testing.T, body string, seed uint64) {
		want, err := parseList([]byte(body))
		if (err == nil) != (want != nil) {
			t.Fatalf("%v beside %v", want, err)
		}
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		type group struct {
			Targets []string          `json:"targets"`
			Labels  map[string]string `json:"labels"`
		}
		groups := []group{} // not null
		for _, entry := range want {
			groups = append(groups, group{[]string{entry.address}, entry.labels})
		}
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		shuffled, err := json.Marshal(groups)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseList(shuffled)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(listed{}), cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("in another order: %v\n%s", err, diff)
		}
	})
}
