package engine

import (
	"io"
	"log"
	"strings"
	"testing"
	"testing/synctest"
)

// TestSettingsInMetrics holds that metrics say how a target is configured, where rules need that, and follow a reload.
func TestSettingsInMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		for _, test := range []struct{ variables, want string }{
			{"STALL_TIMEOUT=7s", `llm_probe_stall_limit_seconds{model="m",prompt="cold",target="a:80"} 7`},
			{"TIMEOUT=5s", `llm_probe_stall_limit_seconds{model="m",prompt="cold",target="a:80"} 5`},
		} {
			d.apply("", append(strings.Fields(test.variables), "TARGETS_0_URL=http://a", "TARGETS_0_MODEL=m")...)
			metrics := serve("/metrics", d.runner.Observers.Metrics.Handler(log.New(io.Discard, "", 0)))
			if !strings.Contains(metrics, "\n"+test.want+"\n") {
				t.Errorf("with %s the metrics are without %s", test.variables, test.want)
			}
		}
	})
}
