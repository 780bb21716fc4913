package daemon

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

// TestPanicOfAHandlerIsAnError holds that it is logged at error with its stack and counted, and that the client gets no
// answer.
func TestPanicOfAHandlerIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.WarnLevel)
		mux := http.NewServeMux()
		mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { panic("of a handler") })
		listener := memconn.Listen(memconn.Buffer)
		var panics atomic.Int64
		memconn.ServeOn(t, newServer(mux, newServerLog(zap.New(core), func() { panics.Add(1) })), listener)
		transport := &http.Transport{DialContext: listener.Dial, DisableKeepAlives: true}
		for range 2 {
			response, err := (&http.Client{Transport: transport}).Get("http://prober/") //nolint:noctx // in memory
			if err == nil {
				_ = response.Body.Close()
				t.Errorf("answered %s", response.Status)
			}
		}
		synctest.Wait()
		entries := logs.FilterMessage("panic while an HTTP request was served; please report it").All()
		if len(entries) != 2 || panics.Load() != 2 {
			t.Fatalf("%d panics counted and %v logged, want two", panics.Load(), logs.All())
		}
		fields := entries[0].ContextMap()
		stack, _ := fields["stack"].(string)
		if entries[0].Level != zapcore.ErrorLevel || !strings.Contains(fields["panic"].(string), "of a handler") ||
			!strings.Contains(stack, "TestPanicOfAHandlerIsAnError") {
			t.Errorf("logged at %s: %v", entries[0].Level, fields)
		}
	})
}

// TestServerLog holds what is a warning, that there is one a minute, and that the rest is for debug.
func TestServerLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.DebugLevel)
		server := newServerLog(zap.New(core), nil)
		toolkit := slog.New(toolkitLog{oncePerMinute(zap.New(core))})
		expect := func(when string, level zapcore.Level, want int) {
			t.Helper()
			if got := logs.FilterLevelExact(level).Len(); got != want {
				t.Errorf("%s: %d entries at %s, want %d", when, got, level, want)
			}
		}
		server.Print("http: TLS handshake error from 10.0.0.1:5000: EOF")
		server.Print("http: TLS handshake error from 10.0.0.1:5000: read tcp 10.0.0.1:9464->10.0.0.1:5000: read: " +
			"connection reset by peer")
		server.Print("http: URL query contains semicolon, which is no longer a supported separator")
		toolkit.Info("TLS is enabled.")
		expect("clients that break off", zapcore.DebugLevel, 4)

		for range 3 {
			server.Print("http: TLS handshake error from 10.0.0.1:5000: open server.crt: no such file or directory")
			toolkit.Error("Unable to parse configuration", "err", "line 3")
		}
		expect("at first", zapcore.WarnLevel, 1)
		expect("at first", zapcore.ErrorLevel, 1)
		time.Sleep(time.Minute)
		server.Print("http: TLS handshake error from 10.0.0.1:5000: remote error: tls: bad certificate")
		toolkit.Error("Unable to parse configuration", "err", "line 3")
		expect("after a minute", zapcore.WarnLevel, 2)
		expect("after a minute", zapcore.ErrorLevel, 2)
		expect("in the end", zapcore.DebugLevel, 4)
	})
}

// TestAWebConfigurationWithoutProtection holds that a file with neither TLS nor users is refused at the start, although
// the toolkit takes it, and that there is a warning each time that a running prober has lost both.
func TestAWebConfigurationWithoutProtection(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	refused := func() bool {
		_, err := Load(configured([]string{"a"}, "PROBER_WEB_CONFIG_FILE", path), files.New())
		text := fmt.Sprint(err)
		return strings.Contains(text, "web.yaml") && strings.Contains(text, "neither TLS nor users")
	}
	open := []string{
		"", "# nothing\n", "basic_auth_users: {}\n", "tls_server_config: {}\n", "http_server_config: {http2: true}\n",
	}
	for _, text := range open {
		writeFile(t, dir, "web.yaml", text)
		if !refused() {
			t.Errorf("a file of %q is not refused", text)
		}
	}
	writeFile(t, dir, "web.yaml", users)
	if refused() {
		t.Error("a file with users is refused")
	}
	synctest.Test(t, func(t *testing.T) {
		prober := start(t, simnet.New(t, "a"), &Daemon{}, "PROBER_WEB_CONFIG_FILE", path)
		for n, text := range open {
			time.Sleep(time.Minute)
			writeFile(t, dir, "web.yaml", text)
			time.Sleep(time.Minute)
			warnings := prober.logs.FilterLevelExact(zapcore.WarnLevel).FilterField(zap.String("file", path)).Len()
			expectEqual(t, fmt.Sprintf("warnings after %q", text), warnings, n+1)
			writeFile(t, dir, "web.yaml", users)
		}
	})
}

// TestBrokenWebConfigurationIsLogged holds that a connection is not refused without a word if a certificate is gone, or
// if the web configuration cannot be read any more.
func TestBrokenWebConfigurationIsLogged(t *testing.T) {
	for name, test := range map[string]struct {
		config        string // TLS or logins
		broken, write string // the file that changes, and its new content; empty: it is removed
		level         zapcore.Level
		want          string
	}{
		"a certificate that is gone": {
			config: "tls_server_config: {cert_file: server.crt, key_file: server.key}\n", broken: "server.crt",
			level: zapcore.WarnLevel, want: "server.crt: no such file or directory",
		},
		"a configuration that is invalid by now": {
			config: users, broken: "web.yaml", write: "nothing: 1",
			level: zapcore.ErrorLevel, want: "field nothing not found",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, server := t.TempDir(), newPair(t)
				server.write(t, dir, "server")
				path := writeFile(t, dir, "web.yaml", test.config)
				var client *tls.Config
				if test.config != users {
					client = &tls.Config{RootCAs: trusting(server)}
				}
				prober := start(t, simnet.New(t, "a"), &Daemon{}, "PROBER_WEB_CONFIG_FILE", path)
				expectEqual(t, "status", prober.status(client, "GET /", "prometheus", "secret"), http.StatusOK)
				if test.write == "" {
					if err := os.Remove(filepath.Join(dir, test.broken)); err != nil {
						t.Fatal(err)
					}
				} else {
					writeFile(t, dir, test.broken, test.write)
				}
				if prober.status(client, "GET /", "prometheus", "secret") == http.StatusOK {
					t.Error("answered although it is broken")
				}
				logged := prober.logs.FilterLevelExact(test.level).All()
				text := ""
				for _, entry := range logged {
					text += fmt.Sprintln(entry.Message, entry.ContextMap())
				}
				if !strings.Contains(text, test.want) {
					t.Errorf("logged at %s:\n%swant %q", test.level, text, test.want)
				}
			})
		})
	}
}
