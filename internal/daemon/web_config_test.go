package daemon

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

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

// TestPageURL holds where somebody on this machine finds the page.
func TestPageURL(t *testing.T) {
	dir := t.TempDir()
	secure := writeFile(t, dir, "tls.yaml", "tls_server_config: {cert_file: a, key_file: b}")
	plain := writeFile(t, dir, "users.yaml", users)
	for _, test := range [][3]string{
		{":9464", "", "http://127.0.0.1:9464/"},
		{"[::]:9464", plain, "http://127.0.0.1:9464/"},
		{"0.0.0.0:1", secure, "https://127.0.0.1:1/"},
		{"[fd00::1]:9464", "", "http://[fd00::1]:9464/"},
	} {
		if got := PageURL(test[0], test[1]); got != test[2] {
			t.Errorf("%s is %s, want %s", test[0], got, test[2])
		}
	}
}
