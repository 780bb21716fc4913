//go:build !race

package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// targetsFile lists hosts as targets, each with the settings that settings gives it.
func targetsFile(hosts []string, settings func(n int) string) string {
	var b strings.Builder
	b.WriteString("targets:\n")
	for n, host := range hosts {
		if given := settings(n); given != "-" {
			fmt.Fprintf(&b, "- {name: %s, url: \"http://%s\"%s}\n", host, host, given)
		}
	}
	return b.String()
}

// TestReloadUnderLoad reloads while 200 targets are probed once a second: 100 change, 50 go, 50 stay as they are. Every
// request that a server got is counted once, no series begins anew, and what did not change misses no slot. A goroutine
// that is left fails the bubble.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hosts []string
		for n := range 200 {
			hosts = append(hosts, fmt.Sprintf("h%03d", n))
		}
		path := filepath.Join(t.TempDir(), "targets.yaml")
		write := func(settings func(n int) string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(targetsFile(hosts, settings)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(func(int) string { return "" })
		environ := settings("1")
		environ["PROBER_TARGETS_FILE"], environ["PROBER_RELOAD_INTERVAL"] = path, "1s"
		w := newWorld(t, time.Second, hosts, environ)
		time.Sleep(5*time.Second + 300*time.Millisecond)

		changed := time.Now()
		write(func(n int) string { return []string{"", ", timeout: 100s", ", max_tokens: 6", "-"}[n%4] })
		time.Sleep(5*time.Second - 300*time.Millisecond)
		if n := w.logged("reloaded"); n != 1 {
			t.Fatalf("%d reloads", n)
		}

		recorded := map[string]int{}
		for _, entry := range w.logs.FilterMessage("probe").All() {
			recorded[entry.ContextMap()["target"].(string)]++
		}
		page := w.get("/metrics")
		underWay, counted, skipped := totals(page, "llm_probe_in_flight"), totals(page, "llm_probe_probes_total"), totals(page, "llm_probe_skipped_total")
		for n, host := range hosts {
			sent := len(w.servers[host].Sent())
			if recorded[host]+underWay[host] != sent {
				t.Errorf("%s got %d requests, %d are recorded and %d under way", host, sent, recorded[host], underWay[host])
			}
			if n%4 == 3 {
				if _, there := counted[host]; there {
					t.Errorf("%s is gone and has series", host)
				}
				continue
			}
			if counted[host] != recorded[host] || counted[host] < 8 {
				t.Errorf("%s has %d probes counted, %d recorded", host, counted[host], recorded[host])
			}
			if skipped[host] != 0 {
				t.Errorf("%s lost %d probes", host, skipped[host])
			}
			if last, ok := w.fitted.Load(host); !ok || last.(time.Time).After(changed) != (n%4 != 0) {
				t.Errorf("%s was fitted last at %v, the change was at %v", host, last, changed)
			}
			if n%4 == 0 && sent != 10 {
				t.Errorf("%s did not change and was asked %d times in ten seconds, want 10", host, sent)
			}
		}
		w.end()
		if n := w.logs.FilterField(zap.String("outcome", "ok")).Len(); n != w.logged("probe") {
			t.Errorf("%d of %d probes went well", n, w.logged("probe"))
		}
	})
}
