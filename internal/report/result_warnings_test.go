package report

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// TestReasoningAlone holds that the body which turns reasoning off is the one of that type of server.
func TestReasoningAlone(t *testing.T) {
	for server, want := range map[string]string{
		"vllm":       "(body: {chat_template_kwargs: {enable_thinking: false}}) or",
		"ollama":     "(body: {reasoning_effort: none}) or",
		"openrouter": "(body: {reasoning: {enabled: false}}) or",
		"anthropic":  "(body: {thinking: {type: disabled}}) or",
		"":           "enable_thinking: false}} or {reasoning_effort: none}",
	} {
		text := Warning(probe.Warning{Kind: probe.WarnOnlyReasoning, Words: server})
		if !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q in it", server, text, want)
		}
	}
}

// TestEachWarningIsASentence holds that no kind of warning is forgotten.
func TestEachWarningIsASentence(t *testing.T) {
	source, err := os.ReadFile("../probe/warning.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`(?m)^\tWarn\w+ +WarningKind = "(\w+)"`).FindAllSubmatch(source, -1)
	if len(kinds) < 19 {
		t.Errorf("only %d kinds", len(kinds))
	}
	for _, kind := range kinds {
		text := Warning(probe.Warning{Kind: probe.WarningKind(kind[1]), N: 3, Of: 5, Words: "w", Framing: "lines"})
		if !strings.Contains(text, " ") || strings.Contains(text, "%!") {
			t.Errorf("%s: %q", kind[1], text)
		}
	}
}

func TestWarningOfLateReads(t *testing.T) {
	const ms = time.Millisecond
	for want, late := range map[string]probe.LateReads{
		"the prober read up to 99.0 ms late, and 3 tokens together with others, so that their ITL is a mean: no TTFT, " +
			"no max gap": {Delay: 99 * ms, Joined: 3, MeanITL: true, NoTTFT: true, NoMaxGap: true},
		"the prober read up to 99.0 ms late, and 3 tokens together with others: no ITL": {
			Delay: 99 * ms, Joined: 3, NoITL: true,
		},
		"the prober read up to 99.0 ms late: no E2EL": {Delay: 99 * ms, NoE2EL: true},
	} {
		if got := Warning(probe.Warning{Kind: probe.WarnLateReads, Late: late}); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}
