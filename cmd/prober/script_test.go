package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/testing/golden"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"prober": main})
}

// TestScripts runs the command line as it is typed. Each script finds the URLs of servers in its environment:
//
//	SIM, OTHER, TGI  simulated
//	GARBLED          answers canaries wrongly
//	SHORT            has a context of 8,192 tokens
//	STRICT           wants the key sk-sesame and rejects fields that it does not know
//	HTML             serves a page and no API
//	HTTPS            has a certificate that no known authority signed
//	LIST             lists SIM and OTHER (http_sd), and below /none nothing
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       golden.Updating(),
		Setup: func(e *testscript.Env) error {
			// With kernel timestamps, reads that a busy machine delays would give no samples.
			e.Setenv("PROBER_TIMESTAMPS", "user")
			short := quick(t)
			short.MaxModelLen = 8192
			for name, c := range map[string]sim.Config{
				"SIM":     {Profile: quick(t), Seed: 1},
				"OTHER":   {Profile: quick(t), Seed: 2},
				"GARBLED": {Profile: quick(t), Seed: 1},
				"TGI":     {Profile: profile(t, "tgi"), Seed: 1},
				"SHORT":   {Profile: short, Seed: 1},
				"STRICT":  {Profile: quick(t), Seed: 1},
			} {
				s := sim.New(c)
				if err := s.SetFault(sim.Fault{WrongAnswer: name == "GARBLED"}); err != nil {
					return err
				}
				handler := http.Handler(s)
				if name == "STRICT" {
					handler = strict(s)
				}
				server := httptest.NewServer(handler)
				e.Defer(func() { s.Close(); server.CloseClientConnections(); server.Close() })
				e.Setenv(name, server.URL)
			}
			html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "<html>Welcome to nginx!</html>")
			}))
			secure := httptest.NewUnstartedServer(http.NotFoundHandler())
			secure.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that hang up are what the scripts want
			secure.StartTLS()
			e.Defer(html.Close)
			e.Defer(secure.Close)
			listed := fmt.Sprintf(`[{"targets": [%q, %q]}]`, e.Getenv("SIM"), e.Getenv("OTHER")) // the handler may not read e
			list := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				groups := "[]"
				if r.URL.Path != "/none" {
					groups = listed
				}
				_, _ = io.WriteString(w, groups)
			}))
			e.Defer(list.Close)
			e.Setenv("LIST", list.URL)
			e.Setenv("HTML", html.URL)
			e.Setenv("HTTPS", secure.URL)
			return nil
		},
	})
}

// strict returns a server behind a gateway. The gateway wants the key sk-sesame, has no route that counts tokens, and
// rejects fields that it does not know.
func strict(server http.Handler) http.Handler {
	refuse := func(w http.ResponseWriter, status int, message string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, message)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		switch {
		case err != nil:
			panic(http.ErrAbortHandler)
		case r.Header.Get("Authorization") != "Bearer sk-sesame":
			refuse(w, http.StatusUnauthorized, "Invalid or missing API key.")
		case r.URL.Path == "/tokenize":
			refuse(w, http.StatusNotFound, "Not Found")
		case bytes.Contains(body, []byte(`"continuous_usage_stats"`)):
			refuse(w, http.StatusBadRequest, "Extra inputs are not permitted: stream_options.continuous_usage_stats")
		case bytes.Contains(body, []byte(`"cache_salt"`)):
			refuse(w, http.StatusBadRequest, "Extra inputs are not permitted: cache_salt")
		default:
			r.Body = io.NopCloser(bytes.NewReader(body))
			server.ServeHTTP(w, r)
		}
	})
}

// quick returns the profile fast, even faster: scripts run in real time.
func quick(t *testing.T) sim.Profile {
	t.Helper()
	p := profile(t, "fast")
	p.TTFT = 2 * time.Millisecond
	p.TPOT = 500 * time.Microsecond
	return p
}

func profile(t *testing.T, name string) sim.Profile {
	t.Helper()
	p, err := sim.ParseProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHelpFits holds that the help of each command fits a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	isLong := func(line string) bool { return utf8.RuneCountInString(line) > 80 }
	for _, c := range append(newRoot().Commands(), &cobra.Command{}) {
		var page strings.Builder
		run(t.Context(), append(strings.Fields(c.Name()), "--help"), &page, io.Discard)
		lines := strings.Split(page.String(), "\n")
		if len(lines) < 5 {
			t.Errorf("prober %s --help has %d lines\n%s", c.Name(), len(lines), &page)
		}
		if i := slices.IndexFunc(lines, isLong); i >= 0 {
			t.Errorf("prober %s --help has a line of more than 80 columns: %s", c.Name(), lines[i])
		}
	}
}

// TestExitCodes holds the exit codes, and that each command reports a mistake in its use by one.
func TestExitCodes(t *testing.T) {
	t.Setenv("PROBER_TIMESTAMPS", "user") // as in TestScripts
	fast := httptest.NewServer(sim.New(sim.Config{Profile: quick(t), Seed: 1}))
	defer fast.Close()
	fill := strings.NewReplacer(
		"FAST", fast.URL+" --prompt-tokens 80 --max-tokens 5",
		"TAKEN", fast.Listener.Addr().String(),
	)
	for want, lines := range map[int]string{
		exitOK: `
			version
			--version
			help once
			alerts
			once --objective ttft<10s --fail-on objective FAST
			check --objective ttft<1us FAST`,
		exitFailed: `
			check http://127.0.0.1:1
			once http://127.0.0.1:1
			once --objective ttft<10s --fail-on objective http://127.0.0.1:1
			run http://a --listen-address TAKEN
			drain http://127.0.0.1:1
			report --prometheus http://127.0.0.1:1`,
		exitMissed: `
			once --objective ttft<10s --objective ttft<1us --fail-on objective FAST
			check --objective ttft<1us --fail-on objective FAST
			bench --objective ttft<1us --fail-on objective --requests 1 FAST
			bench --concurrency 2 --requests 2 --fail-on regression a=FAST b=FAST`, // too few to exclude one
		exitUsage: `
			help nope
			frob
			version x
			run
			once --nope
			once --format xml http://a
			once --qps fast http://a
			once --objective ttft http://a
			once --fail-on objective http://a
			check --fail-on regression http://a
			check --quick --objective ttft<1s --fail-on objective http://a
			bench --fail-on regression http://a http://b http://c
			bench --fail-on nope http://a
			bench --ladder 1,x
			report
			alerts Nonsense
			alerts --format xml
			alerts --by le
			alerts --label team
			alerts --runbook-url example.com
			alerts --grafana-url ftp://example.com
			alerts a b
			dashboards nope
			dashboards overview target
			drain localhost:9464
			drain ftp://127.0.0.1
			simulate --profile nope
			demo --fault speed=1`,
	} {
		for line := range strings.Lines(strings.TrimSpace(lines)) {
			args := strings.Fields(fill.Replace(line))
			if code := run(t.Context(), args, io.Discard, io.Discard); code != want {
				t.Errorf("prober %s: exit code %d, want %d", args, code, want)
			}
		}
	}
}
