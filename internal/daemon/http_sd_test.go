package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/testing/simnet"
)

// lists makes a host list targets, as JSON, until it lists others.
func lists(servers *simnet.Network, host, groups string) {
	servers.Answer(host+"/list", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, groups)
	})
}

// TestTargetsOfASource holds that a prober which knows nothing but a source starts without it, asks it at each
// HTTP_SD_0_REFRESH, probes what it lists and nothing else, keeps that while the source fails, and says so on the page
// and in the metrics. The credentials in HTTP_SD_0_URL, and those in a list, are nowhere to be seen.
func TestTargetsOfASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "sd", "10.0.0.1", "10.0.0.2", "10.0.0.3")
		servers.Down("sd")
		prober := start(t, servers, &Daemon{}, "PROBER_HTTP_SD_0_URL", "http://me:sk-geheim@sd/list?key=sk-geheim",
			"PROBER_HTTP_SD_0_REFRESH", "20s", "PROBER_LABELS", "team=none", "PROBER_API_KEY", "sk-shared")
		prober.expectReady(true)
		prober.expectTargets()
		prober.expectShown("/", "HTTP service discovery fails")
		prober.expectShown("/", "none of its targets is known:")
		prober.expectShown("/", "<bdi>http://***@sd/list?***: dial tcp: connection refused</bdi>")

		servers.Up("sd")
		lists(servers, "sd", `[{"targets": ["10.0.0.1:80"], "labels": {"team": "search", "__meta_x": "", "y": ""}},
			{"targets": ["10.0.0.2:80", "http://me:sk-geheim@10.0.0.3"]}]`)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		prober.expectTargets("10.0.0.1:80", "10.0.0.2:80")
		prober.expectNotShown("/", "HTTP service discovery fails")
		time.Sleep(time.Minute)
		synctest.Wait()
		expectLastRequest(t, servers, "10.0.0.2", "10.0.0.2:80", "Bearer sk-shared")
		expectEqual(t, "requests for the list", servers.Requests()["sd/list"], 4)
		prober.expectMetrics(map[string]float64{
			"llm_prober_http_sd_failures_total":                         1,
			"llm_prober_http_sd_targets":                                2,
			"llm_prober_http_sd_dropped_labels":                         2,
			`llm_probe_enabled{target="10.0.0.1:80",team="search"}`:     1,
			`llm_probe_enabled{target="10.0.0.2:80",team="none"}`:       1,
			`llm_prober_target_rejected{target="http://***@10.0.0.3"}`:  1,
			`llm_probe_probes_total{target="10.0.0.1:80",outcome="ok"}`: 6,
			`llm_probe_probes_total{target="10.0.0.2:80",outcome="ok"}`: 6,
		})

		servers.Answer("sd/list", http.NotFound)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		prober.expectTargets("10.0.0.1:80", "10.0.0.2:80")
		prober.expectMetrics(map[string]float64{"llm_prober_http_sd_failures_total": 10, "llm_prober_http_sd_targets": 2})
		prober.expectLogged(2, "HTTP service discovery failed; keeping the last known targets")
		prober.expectShown("/", "keeping its last 3 targets:")
		prober.expectShown("/", "<bdi>http://***@sd/list?***: HTTP 404 Not Found</bdi>")

		lists(servers, "sd", `[{"targets": ["10.0.0.2:80", "10.0.0.3:80"]}]`)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		prober.expectLogged(2, "HTTP service discovery succeeded again")
		prober.expectTargets("10.0.0.2:80", "10.0.0.3:80")

		for _, path := range []string{"/", "/metrics", "/api/v1/targets", "/api/v1/results"} {
			prober.expectNotShown(path, "geheim")
		}
		for _, entry := range prober.logs.All() {
			text := fmt.Sprint(entry.Message, entry.ContextMap())
			if strings.Contains(text, "geheim") {
				t.Errorf("logged: %s", text)
			}
		}

		prober.mustReload([]string{"10.0.0.1"})
		asked := servers.Requests()["sd/list"]
		time.Sleep(5 * time.Minute)
		prober.expectTargets("10.0.0.1:80")
		expectEqual(t, "requests for a list that is not configured any more", servers.Requests()["sd/list"]-asked, 0)
		prober.expectMetrics(map[string]float64{"llm_prober_http_sd_targets": 0})
	})
}

// TestSourcesAreAskedSideBySide holds that each of two sources is asked at its own time, and that one which hangs
// delays nothing for more than ten seconds: neither the start nor the targets of the other.
func TestSourcesAreAskedSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "sd", "hangs", "10.0.0.1")
		lists(servers, "sd", `[{"targets": ["10.0.0.1:80"]}]`)
		servers.Answer("hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		prober := start(t, servers, &Daemon{}, "PROBER_HTTP_SD_0_URL", "http://hangs/list", "PROBER_HTTP_SD_0_REFRESH", "1h",
			"PROBER_HTTP_SD_1_URL", "http://sd/list", "PROBER_HTTP_SD_1_REFRESH", "15s")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		prober.expectTargets("10.0.0.1:80")
		prober.expectShown("/", "http://hangs/list: no answer within 10s")
		time.Sleep(60*time.Second + time.Nanosecond)
		expectEqual(t, "requests for the list", servers.Requests()["sd/list"], 5)
		expectEqual(t, "requests for that which hangs", servers.Requests()["hangs/list"], 2)
	})
}
