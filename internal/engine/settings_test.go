package engine

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
)

// TestSettingsInMetrics holds that metrics say how a target is configured, where rules need that, and follow a reload.
func TestSettingsInMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		for _, test := range []struct{ variables, want string }{
			{"STALL_TIMEOUT=7s", `(?m)^llm_probe_stall_limit_seconds\{.*\} 7$`},
			{"TIMEOUT=5s", `(?m)^llm_probe_stall_limit_seconds\{.*\} 5$`},
			{"REFUSALS=bad", `(?m)^llm_probe_target_info\{.*refusals="bad".*\} 1$`},
			{"REFUSALS=ignore", `(?m)^llm_probe_target_info\{.*refusals="ignore".*\} 1$`},
		} {
			d.apply("", append(strings.Fields(test.variables), "TARGETS_0_URL=http://a", "TARGETS_0_MODEL=m")...)
			metrics := d.metrics()
			if !regexp.MustCompile(test.want).MatchString(metrics) {
				t.Errorf("with %s the metrics are without %s", test.variables, test.want)
			}
		}
	})
}
