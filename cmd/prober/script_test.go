package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/llm-prober/prober/internal/sim"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"prober": main})
}

// quiet is a log of what servers of tests complain of on purpose.
var quiet = log.New(io.Discard, "", 0)

// TestScripts runs the command line as it is typed. Each script finds servers
// in its environment: SIM, OTHER and TGI (simulated), SHORT (with a short context), STRICT (one that wants the key
// sk-sesame and rejects what it does not know), ODD/NAME (one odd answer each),
// and HTTPS (whose certificate no known authority signed).
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			// The kernel would tell of reads that a busy machine delays, and what they blur is no sample.
			e.Setenv("PROBER_STAMP", "user")
			e.Setenv("SIM", simulated(e, sim.Config{Profile: profile(t, "fast"), Seed: 1}))
			e.Setenv("OTHER", simulated(e, sim.Config{Profile: profile(t, "fast"), Seed: 2}))
			e.Setenv("GARBLED", garbled(e, t))
			e.Setenv("TGI", simulated(e, sim.Config{Profile: profile(t, "tgi"), Seed: 1}))
			short := profile(t, "fast")
			short.MaxModelLen = 8192
			e.Setenv("SHORT", simulated(e, sim.Config{Profile: short, Seed: 1}))
			e.Setenv("STRICT", simulated(e, sim.Config{
				Profile: profile(t, "fast"), Seed: 1, APIKey: "sk-sesame", NoTokenize: true,
				RejectFields: []string{"stream_options.continuous_usage_stats", "cache_salt"},
			}))
			odd := httptest.NewUnstartedServer(http.HandlerFunc(answerOddly))
			odd.Config.ErrorLog = quiet
			odd.Start()
			secure := httptest.NewUnstartedServer(http.NotFoundHandler())
			secure.Config.ErrorLog = quiet
			secure.StartTLS()
			e.Defer(odd.Close)
			e.Defer(secure.Close)
			e.Setenv("ODD", odd.URL)
			e.Setenv("HTTPS", secure.URL)
			return nil
		},
	})
}

func profile(t *testing.T, name string) sim.Profile {
	t.Helper()
	p, err := sim.ParseProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// garbled serves a simulated server that answers canaries wrongly.
func garbled(e *testscript.Env, t *testing.T) (url string) {
	s := sim.New(sim.Config{Profile: profile(t, "fast"), Seed: 1})
	if err := s.SetFault(sim.Fault{WrongAnswer: true}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	e.Defer(func() { s.Close(); server.CloseClientConnections(); server.Close() })
	return server.URL
}

// simulated serves a simulated server until the script has ended.
func simulated(e *testscript.Env, c sim.Config) (url string) {
	s := sim.New(c)
	server := httptest.NewServer(s)
	e.Defer(func() { s.Close(); server.CloseClientConnections(); server.Close() })
	return server.URL
}

// A frame of a chat completion, and its end.
const (
	roleFrame  = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`
	tokenFrame = `{"choices":[{"index":0,"delta":{"content":" x"}}]}`
	lastFrame  = `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`
)

// tokenUsage is usage of ten tokens.
const tokenUsage = `{"prompt_tokens":80,"completion_tokens":10,"total_tokens":90,"prompt_tokens_details":{"cached_tokens":%d}}`

// answerOddly answers with what the first part of the path names, a millisecond
// between its frames.
func answerOddly(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	ten := strings.Split(strings.Repeat(tokenFrame+"\n", 10), "\n")[:10]
	usage := `{"choices":[],"usage":` + fmt.Sprintf(tokenUsage, 64) + `}`
	less := `{"choices":[],"usage":` + fmt.Sprintf(tokenUsage, 0) + `}`
	switch name {
	case "role-early":
		frames(w, roleFrame)
		time.Sleep(350 * time.Millisecond)
		frames(w, append(ten, lastFrame, usage, "[DONE]")...)
	case "two-usages":
		frames(w, append(ten, lastFrame, usage, less, "[DONE]")...)
	case "three-a-frame":
		for n := 3; n <= 9; n += 3 {
			frames(w, fmt.Sprintf(`{"choices":[{"delta":{"content":" x y z"}}],"usage":{"prompt_tokens":80,"completion_tokens":%d,"total_tokens":%d}}`, n, 80+n))
		}
		frames(w, lastFrame, "[DONE]")
	case "comment-first":
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": processing\n\n")
		frames(w, append(ten, lastFrame, usage, "[DONE]")...)
	case "error-then-done":
		frames(w, append(ten, `{"error":{"message":"boom","code":500}}`, "[DONE]")...)
	case "cut":
		frames(w, ten...)
		panic(http.ErrAbortHandler)
	case "html":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Welcome to nginx!</html>")
	case "json":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"hi"}}]}`)
	case "nothing":
		w.Header().Set("Content-Type", "text/event-stream")
	case "gone":
		panic(http.ErrAbortHandler)
	default:
		http.NotFound(w, r)
	}
}

// frames sends SSE events, a write each.
func frames(w http.ResponseWriter, jsons ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, text := range jsons {
		time.Sleep(time.Millisecond)
		fmt.Fprintf(w, "data: %s\n\n", text)
		_ = http.NewResponseController(w).Flush()
	}
}

func TestExitCodes(t *testing.T) {
	odd := httptest.NewServer(http.HandlerFunc(answerOddly))
	defer odd.Close()
	for args, want := range map[string]int{
		"version":                    exitOK,
		"--version":                  exitOK,
		"help once":                  exitOK,
		"help nope":                  exitUsage,
		"bench --ladder 1,x":         exitUsage,
		"once --prompt-token 80":     exitUsage,
		"once --format xml http://a": exitUsage,
		"once --qps fast http://a":   exitUsage,
		"run":                        exitUsage,
		"frob":                       exitUsage,
		"once --nope":                exitUsage,
		"version x":                  exitUsage,
		"alerts Nonsense":            exitUsage,
		"alerts --format xml":        exitUsage,
		"alerts a b":                 exitUsage,
		"drain localhost:9464":       exitUsage,
		"drain ftp://127.0.0.1":      exitUsage,
		"drain http://127.0.0.1:1":   exitFailed,
		"alerts":                     exitOK,
		"simulate --profile nope":    exitUsage,
		"simulate --api nope":        exitUsage,
		"simulate --server nope":     exitUsage,
		"simulate --reasoning -1":    exitUsage,
		"demo --fault speed=1":       exitUsage,
		"check http://127.0.0.1:1":   exitFailed,
		"once http://127.0.0.1:1":    exitFailed,
		"run http://a --listen-address 256.0.0.1:1": exitFailed,
		"dashboards nope":                        exitUsage,
		"inject":                                 exitUsage,
		"inject -f testdata/script/inject.txtar": exitUsage,
		"inject -f .":                            exitUsage,
		"report":                                 exitUsage,
		"report --prometheus http://127.0.0.1:1": exitFailed,
		"dashboards overview target":             exitUsage,
		"once --api openai-chat --model m --max-tokens 10 " + odd.URL + "/comment-first": exitOK,
	} {
		if code := run(t.Context(), strings.Fields(args), io.Discard, io.Discard); code != want {
			t.Errorf("prober %s: exit code %d, want %d", args, code, want)
		}
	}
}

// TestUnknownEnvironmentIsNotOurs holds that the tests' own variables do not
// stop the program.
func TestUnknownEnvironmentIsNotOurs(t *testing.T) {
	t.Setenv("PROBER_TRANSCRIPTS", t.TempDir())
	var out strings.Builder
	if code := run(t.Context(), []string{"once", "http://127.0.0.1:1", "--format", "json"}, &out, os.Stderr); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(out.String(), `"outcome":"connect"`) {
		t.Errorf("output %s", out.String())
	}
}
