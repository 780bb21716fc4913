package daemon

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/testing/memconn"
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
