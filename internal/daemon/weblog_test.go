package daemon

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/memconn"
)

// TestPanicOfAHandlerIsAnError holds that it is logged at error with its stack, and that the client gets no answer.
func TestPanicOfAHandlerIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.WarnLevel)
		mux := http.NewServeMux()
		mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { panic("of a handler") })
		listener := memconn.Listen(memconn.Buffer)
		memconn.ServeOn(t, newServer(mux, zap.New(core)), listener)
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
		if len(entries) != 2 {
			t.Fatalf("logged %v, want two panics", logs.All())
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
		server := newServerLog(zap.New(core))
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

// TestBrokenWebConfigurationIsLogged holds that a certificate that is gone, and a web configuration that cannot be read
// any more, are not refused connections without a word.
func TestBrokenWebConfigurationIsLogged(t *testing.T) {
	dir, server := t.TempDir(), newPair(t)
	server.write(t, dir, "server")
	secure := writeFile(t, dir, "tls.yaml", "tls_server_config: {cert_file: server.crt, key_file: server.key}\n")
	plain := writeFile(t, dir, "users.yaml", users)
	for _, test := range []struct {
		web    string
		broken func() error
		client *tls.Config
		level  zapcore.Level
		want   string
	}{
		{
			secure, func() error { return os.Remove(filepath.Join(dir, "server.crt")) },
			&tls.Config{RootCAs: trusting(server)}, zapcore.WarnLevel, "server.crt: no such file or directory",
		},
		{
			plain, func() error { return os.WriteFile(plain, []byte("nothing: 1"), 0o600) },
			nil, zapcore.ErrorLevel, "field nothing not found",
		},
	} {
		core, logs := observer.New(zapcore.WarnLevel)
		d := &Daemon{Log: zap.New(core)}
		address, end := serve(t, d, configured([]string{"127.0.0.1:1"}, "PROBER_WEB_CONFIG_FILE",
			test.web, "PROBER_QPS", "0.01"))
		if status := ask(t, test.client, "GET /", address, "prometheus", "secret"); status != http.StatusOK {
			t.Errorf("%s: %d while it is right", test.web, status)
		}
		if err := test.broken(); err != nil {
			t.Fatal(err)
		}
		if status := ask(t, test.client, "GET /", address, "prometheus", "secret"); status == http.StatusOK {
			t.Errorf("%s: answered though it is broken", test.web)
		}
		end()
		found := false
		for _, entry := range logs.All() {
			for _, value := range entry.ContextMap() {
				text, _ := value.(string)
				found = found || entry.Level == test.level && strings.Contains(text, test.want)
			}
		}
		if !found {
			t.Errorf("%s: logged %v, want %q at %s", test.web, logs.All(), test.want, test.level)
		}
	}
}
