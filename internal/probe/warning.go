package probe

import (
	"fmt"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// A Warning says what is unreliable about a result's numbers. Those of one Kind differ only in their numbers.
type Warning struct {
	Kind, Text string
	Derived    bool // repeats other fields of the [Result] in words: summaries of many results count those instead
}

// String returns the text.
func (w Warning) String() string { return w.Text }

// unbatch names the switches of the gateways that batch an answer most often. All of them, because of a chain of
// gateways the answer names at most one.
const unbatch = " (nginx: proxy_buffering off; HAProxy: option http-no-delay; see docs/servers.md, Gateways)"

// A warningList collects the warnings of a result.
type warningList []Warning

func (l *warningList) add(derived bool, format string, args ...any) {
	*l = append(*l, Warning{Kind: format, Text: fmt.Sprintf(format, args...), Derived: derived})
}

// warnings returns what is unreliable about a result, of maxTokens asked for a prompt of promptTokens; 0: any number.
func warnings(r *Result, maxTokens, promptTokens int) []Warning {
	var list warningList
	late := lateReads(r)
	if late != "" {
		list.add(true, "%s", late)
	}
	list.addAboutHTTP(r)
	if r.Reason == ReasonAnswerBeyondLimit {
		const text = "the server ignores the limit of an answer's length (max_tokens or its like): the probe was " +
			"canceled when more tokens than asked had arrived"
		list.add(false, text)
	}
	list.addAboutBatches(r)
	if r.Outcome == OK {
		list.addAboutEnd(r)
		list.addAboutCounts(r, maxTokens, promptTokens)
	}
	return list
}

// addAboutHTTP adds what is wrong with the header of an answer that was read all the same.
func (l *warningList) addAboutHTTP(r *Result) {
	if r.otherFraming != notFramed && len(r.Timeline.Frames) > 0 {
		const text = "the answer's Content-Type is %s, but its body is %s, and was read as that: set the header right, " +
			"since other clients may go by it"
		l.add(false, text, r.mediaType, r.otherFraming)
	}
	if r.coding != identity {
		const text = "the answer is compressed (%s), although identity was asked for: its tokens arrive no earlier than " +
			"the compressor lets them go"
		l.add(false, text, r.coding)
	}
}

// addAboutBatches adds that something between engine and prober collects token frames.
func (l *warningList) addAboutBatches(r *Result) {
	// Frames that were read late together may have been a burst as well: they count for how many are together, not as
	// proof.
	chunks := r.Timeline.Chunks()
	together := len(r.Timeline.Frames) - len(chunks)
	bursts := r.Timeline.Bursts()
	switch {
	case r.Outcome == OK && r.OnePiece():
		l.add(true, "the answer arrived in one piece: something buffers"+unbatch)
	case bursts > 0 && 2*together >= len(r.Timeline.Frames):
		const text = "%d of %d token frames arrived together with the one before: something batches them" + unbatch
		l.add(true, text, bursts, len(r.Timeline.Frames))
	case len(chunks) > 0 && isHeldBack(chunks[0], len(r.Timeline.Frames)):
		const text = "the first %d of %d token frames arrived together: something holds them back, and TTFT may be late" +
			unbatch
		l.add(true, text, chunks[0].Frames, len(r.Timeline.Frames))
	}
}

// addAboutEnd adds what was unusual about the end of a whole answer.
func (l *warningList) addAboutEnd(r *Result) {
	switch r.closing {
	case leftOpen:
		l.add(false, "the server kept the connection open after the answer's end: clients stop reading there, and so did "+
			"the probe")
	case cutAfterEnd:
		l.add(false, "the connection broke after the answer's end: a proxy or the server does not finish its answers")
	case endMissing:
		l.add(false, "the answer gave its finish reason, but neither its end nor that of the connection came in time: "+
			"it counts as complete")
	}
	if wire.EndingOf(r.Finish) == wire.UnknownEnd {
		l.add(false, "no known server gives the finish reason %q: it is taken for the end of a whole answer", r.Finish)
	}
}

// addAboutCounts adds which tokens of a whole answer are missing, unknown or other than asked.
func (l *warningList) addAboutCounts(r *Result, maxTokens, promptTokens int) {
	output := r.Usage.Generated()
	prompt := r.Usage.Prompt
	switch {
	case r.OtherLength:
		const text = "the server counts %d tokens of prompt, asked %d (%+d): no time of this probe is recorded, and the " +
			"prompt is calibrated again"
		l.add(false, text, prompt.N, promptTokens, prompt.N-promptTokens)
	case prompt.Known && promptTokens > 0 && prompt.N != promptTokens:
		l.add(false, "the server counts %d tokens of prompt, asked %d (%+d)", prompt.N, promptTokens, prompt.N-promptTokens)
	}
	if r.Reasoned && r.Timeline.FirstAnswerAt == 0 {
		l.add(false, "no text of an answer came, only reasoning: no TTFAT")
	}
	switch {
	case !output.Known:
		l.add(true, "the server did not say how many tokens it generated: no TPOT, no ITL")
	case output.N != maxTokens:
		l.add(false, "%s generated, asked %d", format.Count(output.N, "token"), maxTokens)
	}
	if output.Known && r.Source == FromNothing && !r.OnePiece() {
		l.add(true, "%d tokens in %d frames, and no frame says how many it carries: no ITL", output.N, len(r.Timeline.Frames))
	}
	if r.Hidden {
		l.add(true, "some tokens are reasoning that no frame showed: TTFT is that of the first token shown")
	}
	if r.Cache == CacheContaminated {
		const text = "cold prompt, but the server found %d tokens of it in its cache: TTFT is not that of a cold prompt"
		l.add(true, text, r.Usage.Cached.N)
	}
}

// isHeldBack reports whether an answer's first chunk has a quarter of its token frames: a gateway then held the first
// token back until a buffer was full, even if it lets the others go one by one. Two frames may be one step of
// speculative decoding.
func isHeldBack(first timing.Chunk, frames int) bool {
	return !first.Joined && first.Frames > 2 && 4*first.Frames >= frames
}

// lateReads returns which numbers are means, and which are missing, because the prober read late; empty if none is.
// If the prompt had another length, that is why numbers are missing, and it is said elsewhere.
func lateReads(r *Result) string {
	if r.OtherLength {
		return ""
	}
	joined := r.Timeline.JoinedTokens()
	if r.OnePiece() {
		joined = 0
	}
	missing := missingSamples(r)
	if joined == 0 && len(missing) == 0 {
		return ""
	}
	latest, _ := r.Timeline.MaxReadDelay()
	text := fmt.Sprintf("the prober read up to %s late", format.Duration(latest))
	if joined > 0 {
		text += fmt.Sprintf(", and %d tokens together with others", joined)
	}
	hasITL := r.Timeline.Taint == "" && r.Source != FromNothing && !r.Timeline.AtOnce()
	if joined > 0 && hasITL {
		text += ", so that their ITL is a mean"
	}
	if len(missing) > 0 {
		text += ": " + strings.Join(missing, ", ")
	}
	return text
}

// missingSamples returns the quantities that the answer has, and that late reads made too uncertain to record.
func missingSamples(r *Result) []string {
	var missing []string
	_, hasTTFT := r.TTFT()
	if len(r.Timeline.Frames) > 0 && !hasTTFT {
		missing = append(missing, "no TTFT")
	}
	if r.Timeline.Taint != "" || r.Timeline.AtOnce() && !r.OnePiece() {
		missing = append(missing, "no ITL")
	}
	_, hasMaxGap := r.MaxGap()
	if len(r.Timeline.Frames) > 1 && !hasMaxGap && !r.OnePiece() {
		missing = append(missing, "no max gap")
	}
	_, hasE2EL := r.E2EL()
	if r.Outcome == OK && !hasE2EL {
		missing = append(missing, "no E2EL")
	}
	return missing
}
