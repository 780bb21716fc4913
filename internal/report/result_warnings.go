package report

import (
	"fmt"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// unbatch names the switches of the gateways that batch an answer most often. All of them, because of a chain of
// gateways the answer names at most one.
const unbatch = " (nginx: proxy_buffering off; HAProxy: option http-no-delay; see docs/servers.md, Gateways)"

// Warning returns a warning as a text that is a sentence without its stop.
func Warning(w probe.Warning) string {
	switch w.Kind {
	case probe.WarnLateReads:
		return lateReads(w.Late)
	case probe.WarnContentType:
		return fmt.Sprintf("the answer's Content-Type is %s, but its body is %s, and was read as that: set the header "+
			"right, since other clients may go by it", w.Words, w.Framing)
	case probe.WarnCompressed:
		return fmt.Sprintf("the answer is compressed (%s), although identity was asked for: its tokens arrive no earlier "+
			"than the compressor lets them go", w.Words)
	case probe.WarnBeyondLimit:
		return "the server ignores the limit of an answer's length (max_tokens or its like): the probe was canceled when " +
			"more tokens than asked had arrived"

	case probe.WarnOnePiece:
		return "the answer arrived in one piece: something buffers" + unbatch
	case probe.WarnBatched:
		return fmt.Sprintf("%d of %d token frames arrived together with the one before: something batches them", w.N, w.Of) +
			unbatch
	case probe.WarnHeldBack:
		return fmt.Sprintf("the first %d of %d token frames arrived together: something holds them back, and TTFT may be "+
			"late", w.N, w.Of) + unbatch

	case probe.WarnLeftOpen:
		return "the server kept the connection open after the answer's end: clients stop reading there, and so did the probe"
	case probe.WarnCutAfterEnd:
		return "the connection broke after the answer's end: a proxy or the server does not finish its answers"
	case probe.WarnEndMissing:
		return "the answer gave its finish reason, but neither its end nor that of the connection came in time: it counts " +
			"as complete"
	case probe.WarnUnknownFinish:
		return fmt.Sprintf("no known server gives the finish reason %q: it is taken for the end of a whole answer", w.Words)
	}
	return countWarning(w)
}

// countWarning returns a sentence about tokens of prompt and answer.
func countWarning(w probe.Warning) string {
	switch w.Kind {
	case probe.WarnOtherLength:
		return fmt.Sprintf("the server counts %d tokens of prompt, asked %d (%+d): no time of this probe is recorded, and "+
			"the prompt is calibrated again", w.N, w.Of, w.N-w.Of)
	case probe.WarnPromptTokens:
		return fmt.Sprintf("the server counts %d tokens of prompt, asked %d (%+d)", w.N, w.Of, w.N-w.Of)
	case probe.WarnOnlyReasoning:
		return "no text of an answer came, only reasoning: no TTFAT; to measure answers, turn the reasoning off " +
			"(body: " + reasoningOff(w.Words) + ") or ask for more tokens (max_tokens)"
	case probe.WarnLoop:
		return "the answer is one token again and again: it counts as right, because the model has not yet given ten other " +
			"answers, or is asked to go on with a bare text or with a prompt of a data set"
	case probe.WarnUncounted:
		return "the server did not say how many tokens it generated: no TPOT, no ITL"
	case probe.WarnAnswerTokens:
		return fmt.Sprintf("%s generated, asked %d", format.Count(w.N, "token"), w.Of)
	case probe.WarnUncountedFrames:
		return fmt.Sprintf("%d tokens in %d frames, and no frame says how many it carries: no ITL", w.N, w.Of)
	case probe.WarnHiddenReasoning:
		return "some tokens are reasoning that no frame showed: TTFT is that of the first token shown"
	case probe.WarnCachedColdPrompt:
		return fmt.Sprintf("cold prompt, but the server found %d tokens of it in its cache: TTFT is not that of a cold "+
			"prompt", w.N)
	}
	return string(w.Kind)
}

// reasoningOff returns the body with which models on a type of server do not think. docs/targets.md has the sources.
func reasoningOff(server string) string {
	const template = "{chat_template_kwargs: {enable_thinking: false}}"
	const effort = "{reasoning_effort: none}"
	switch server {
	case "vllm", "sglang", "lmdeploy", "llama-server":
		return template
	case "ollama", "openai", "azure-openai":
		return effort
	case "openrouter":
		return "{reasoning: {enabled: false}}"
	case "anthropic":
		return "{thinking: {type: disabled}}"
	}
	return template + " or " + effort
}

// lateReads returns which numbers are means, and which are missing, because the prober read late.
func lateReads(late probe.LateReads) string {
	text := fmt.Sprintf("the prober read up to %s late", format.Duration(late.Delay))
	if late.Joined > 0 {
		text += fmt.Sprintf(", and %d tokens together with others", late.Joined)
	}
	if late.MeanITL {
		text += ", so that their ITL is a mean"
	}
	var missing []string
	for _, quantity := range []struct {
		name      string
		isMissing bool
	}{{"TTFT", late.NoTTFT}, {"ITL", late.NoITL}, {"max gap", late.NoMaxGap}, {"E2EL", late.NoE2EL}} {
		if quantity.isMissing {
			missing = append(missing, "no "+quantity.name)
		}
	}
	if len(missing) > 0 {
		text += ": " + strings.Join(missing, ", ")
	}
	return text
}

// isInSample reports whether fields of a [Sample] say what a warning says, so that summaries count these instead.
func isInSample(w probe.Warning) bool {
	switch w.Kind {
	case probe.WarnLateReads, probe.WarnOnePiece, probe.WarnBatched, probe.WarnHeldBack, probe.WarnUncounted,
		probe.WarnUncountedFrames, probe.WarnHiddenReasoning, probe.WarnCachedColdPrompt:
		return true
	}
	return false
}
