package bench

import (
	"testing"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/wire"
)

func TestSharedCache(t *testing.T) {
	for name, test := range map[string]struct {
		url, server string
		workload    prompt.Workload
		warned      bool
	}{
		"another path":           {"http://a:8000/v1", "", prompt.Cold, true},
		"another port":           {"http://a:8001", "", prompt.Cold, false},
		"a cache that is wanted": {"http://a:8000/v1", "", prompt.Warm, false},
		"a server that tells":    {"http://a:8000/v1", "sglang", prompt.Cold, false},
	} {
		target := probe.Target{Name: "b"}
		if test.server != "" {
			var err error
			if target.Server, err = wire.LookupServer(test.server); err != nil {
				t.Fatal(err)
			}
		}
		counted := tally{job: &engine.Job{
			Targets: []config.Target{{URL: "http://a:8000"}, {URL: test.url}},
			Members: []*probe.Member{nil, probe.NewMember(target, "m", 1)},
			Prompts: prompt.Options{Workload: test.workload},
		}}
		if warned := counted.sharedCache(1) != nil; warned != test.warned {
			t.Errorf("%s: warned %t", name, warned)
		}
	}
}
