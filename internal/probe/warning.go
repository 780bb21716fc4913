package probe

import (
	"time"

	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// A WarningKind is what is unreliable about a result's numbers, or unusual about its answer. The set is closed.
type WarningKind string

// The kinds. N, Of and Words are fields of the [Warning].
const (
	WarnLateReads        WarningKind = "late_reads"         // the prober read late, see Late
	WarnContentType      WarningKind = "content_type"       // it is Words, but the body is Framing
	WarnCompressed       WarningKind = "compressed"         // by Words, although identity was asked for
	WarnBeyondLimit      WarningKind = "beyond_limit"       // the probe was canceled when more tokens than asked had come
	WarnOnePiece         WarningKind = "one_piece"          // the answer arrived in one
	WarnBatched          WarningKind = "batched"            // N of Of token frames arrived in a burst with the one before
	WarnHeldBack         WarningKind = "held_back"          // the first N of Of token frames arrived together
	WarnLeftOpen         WarningKind = "left_open"          // the connection, after the answer's end
	WarnCutAfterEnd      WarningKind = "cut_after_end"      // the connection broke then
	WarnEndMissing       WarningKind = "end_missing"        // of an answer that gave its finish reason
	WarnUnknownFinish    WarningKind = "unknown_finish"     // no known server gives the finish reason Words
	WarnOtherLength      WarningKind = "other_length"       // N tokens of prompt counted, Of asked: there is no sample
	WarnPromptTokens     WarningKind = "prompt_tokens"      // N tokens of prompt counted, Of asked
	WarnOnlyReasoning    WarningKind = "only_reasoning"     // no text of an answer came; Words is the type of the server
	WarnLoop             WarningKind = "loop"               // the answer is one token again and again
	WarnUncounted        WarningKind = "uncounted"          // the server did not say how many tokens it generated
	WarnAnswerTokens     WarningKind = "answer_tokens"      // N tokens generated, Of asked
	WarnUncountedFrames  WarningKind = "uncounted_frames"   // N tokens in Of frames, and no frame says how many it carries
	WarnHiddenReasoning  WarningKind = "hidden_reasoning"   // some tokens are reasoning that no frame showed
	WarnCachedColdPrompt WarningKind = "cached_cold_prompt" // the server had N tokens of it
)

// A Warning is the data for a sentence. Warnings of one kind differ only in their data.
type Warning struct {
	Kind    WarningKind
	N, Of   int
	Words   string // of the server, without credentials
	Framing string // how the body is framed
	Late    LateReads
}

// LateReads say what it cost that the prober read late.
type LateReads struct {
	Delay   time.Duration // the longest
	Joined  int           // tokens that were read together with others
	MeanITL bool          // so their ITL is a mean

	NoTTFT, NoITL, NoMaxGap, NoE2EL bool // which the answer would have, and which are too uncertain now
}

// warnings returns what is unreliable about a result, of maxTokens asked for a prompt of promptTokens; 0: any number.
func warnings(r *Result, maxTokens, promptTokens int) []Warning {
	var list []Warning
	late, ok := lateReads(r)
	if ok {
		list = append(list, Warning{Kind: WarnLateReads, Late: late})
	}
	if r.otherFraming != notFramed && len(r.Timeline.Frames) > 0 {
		list = append(list, Warning{Kind: WarnContentType, Words: r.mediaType, Framing: r.otherFraming.String()})
	}
	if r.coding != codingIdentity {
		list = append(list, Warning{Kind: WarnCompressed, Words: string(r.coding)})
	}
	if r.Reason == ReasonAnswerBeyondLimit {
		list = append(list, Warning{Kind: WarnBeyondLimit})
	}
	batches, ok := batchWarning(r)
	if ok {
		list = append(list, batches)
	}
	if r.Outcome == OK {
		list = append(list, endWarnings(r)...)
		list = append(list, countWarnings(r, maxTokens, promptTokens)...)
	}
	return list
}

// lateReads returns what late reads cost; ok is false if they cost nothing. If the prompt had another length, that is
// why numbers are missing.
func lateReads(r *Result) (late LateReads, ok bool) {
	if r.OtherLength {
		return LateReads{}, false
	}
	isOnePiece := r.OnePiece()
	late.Delay, _ = r.Timeline.MaxReadDelay()
	if !isOnePiece {
		late.Joined = r.Timeline.JoinedTokens()
	}
	hasITL := r.Timeline.Taint == "" && r.Source != FromNothing && !r.Timeline.AtOnce()
	late.MeanITL = late.Joined > 0 && hasITL
	_, hasTTFT := r.TTFT()
	late.NoTTFT = len(r.Timeline.Frames) > 0 && !hasTTFT
	late.NoITL = r.Timeline.Taint != "" || r.Timeline.AtOnce() && !isOnePiece
	_, hasMaxGap := r.MaxGap()
	late.NoMaxGap = len(r.Timeline.Frames) > 1 && !hasMaxGap && !isOnePiece
	_, hasE2EL := r.E2EL()
	late.NoE2EL = r.Outcome == OK && !hasE2EL
	return late, late.Joined > 0 || late.NoTTFT || late.NoITL || late.NoMaxGap || late.NoE2EL
}

// batchWarning returns that something between engine and prober collects token frames; ok is false if nothing seems to.
// Frames that were read late together may have been a burst as well: they count for how many are together, but not as
// proof.
func batchWarning(r *Result) (w Warning, ok bool) {
	frames := len(r.Timeline.Frames)
	chunks := r.Timeline.Chunks()
	together := frames - len(chunks)
	bursts := r.Timeline.Bursts()
	switch {
	case r.Outcome == OK && r.OnePiece():
		return Warning{Kind: WarnOnePiece}, true
	case bursts > 0 && 2*together >= frames:
		return Warning{Kind: WarnBatched, N: bursts, Of: frames}, true
	case len(chunks) > 0 && isHeldBack(chunks[0], frames):
		return Warning{Kind: WarnHeldBack, N: chunks[0].Frames, Of: frames}, true
	}
	return Warning{}, false
}

// isHeldBack reports whether an answer's first chunk has a quarter of its token frames: a gateway then held the first
// token back until a buffer was full, even if it lets the others go one by one. Two frames may be one step of
// speculative decoding.
func isHeldBack(first timing.Chunk, frames int) bool {
	return !first.Joined && first.Frames > 2 && 4*first.Frames >= frames
}

// endWarnings returns what was unusual about the end of a whole answer.
func endWarnings(r *Result) (list []Warning) {
	switch r.closing {
	case leftOpen:
		list = append(list, Warning{Kind: WarnLeftOpen})
	case cutAfterEnd:
		list = append(list, Warning{Kind: WarnCutAfterEnd})
	case endMissing:
		list = append(list, Warning{Kind: WarnEndMissing})
	}
	if wire.EndingOf(r.Finish) == wire.UnknownEnd {
		list = append(list, Warning{Kind: WarnUnknownFinish, Words: r.Finish})
	}
	return list
}

// countWarnings returns which tokens of a whole answer are missing, unknown or other than asked.
func countWarnings(r *Result, maxTokens, promptTokens int) (list []Warning) {
	output := r.Usage.Generated()
	prompt := r.Usage.Prompt
	switch {
	case r.OtherLength:
		list = append(list, Warning{Kind: WarnOtherLength, N: prompt.N, Of: promptTokens})
	case prompt.Known && promptTokens > 0 && prompt.N != promptTokens:
		list = append(list, Warning{Kind: WarnPromptTokens, N: prompt.N, Of: promptTokens})
	}
	if r.ReasoningShown && r.Timeline.FirstAnswerAt == 0 {
		list = append(list, Warning{Kind: WarnOnlyReasoning, Words: r.Server})
	}
	if r.isLoop() {
		list = append(list, Warning{Kind: WarnLoop})
	}
	switch {
	case !output.Known:
		list = append(list, Warning{Kind: WarnUncounted})
	case maxTokens > 0 && output.N != maxTokens:
		list = append(list, Warning{Kind: WarnAnswerTokens, N: output.N, Of: maxTokens})
	}
	if output.Known && r.Source == FromNothing && !r.OnePiece() {
		list = append(list, Warning{Kind: WarnUncountedFrames, N: output.N, Of: len(r.Timeline.Frames)})
	}
	if r.ReasoningHidden {
		list = append(list, Warning{Kind: WarnHiddenReasoning})
	}
	if r.Cache == CacheContaminated {
		list = append(list, Warning{Kind: WarnCachedColdPrompt, N: r.Usage.Cached.N})
	}
	return list
}
