package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// complete returns the verdict on an answer that was read to its end.
func (x *exchange) complete() verdict {
	x.addUnfielded()
	if x.answer.serverErr != nil {
		return x.reported(x.answer.serverErr)
	}
	r := x.result
	ending := wire.EndingOf(r.Finish)
	tokenFrames := len(r.Timeline.Frames)
	isEnded := r.Finish != "" || x.target.Dialect.FinishOptional && tokenFrames > 0
	switch {
	case x.answer.bareMessage != nil && !isEnded:
		return x.reported(x.answer.bareMessage)
	case ending == wire.Filtered || x.answer.hasRefusal:
		return failure(Filtered, ReasonContentFilter, "answer filtered or refused (finish reason %q)", r.Finish)
	case ending == wire.Failed:
		return failure(ServerError, ReasonErrorInAnswer, "server gave up (finish reason %q)", r.Finish)
	case x.answer.frames == 1 && (tokenFrames == 0 || x.answer.isUnstreamed) && x.frames.Mislabeled():
		return failure(NotStreamed, ReasonNotAStream, "the body is one JSON text instead of a stream")
	case x.answer.frames == 0 && x.answer.unfielded > 0:
		const text = "stream ended without an event: %d bytes of it are no event"
		return failure(Empty, ReasonNoTokens, text, x.answer.unfielded)
	case ending == wire.NoAnswer:
		return failure(Empty, ReasonNoTokens, "the server answered nothing (finish reason %q)", r.Finish)
	case x.answer.frames == 0:
		return failure(Empty, ReasonEmptyStream, "stream ended without a token or anything else in it")
	case tokenFrames == 0:
		return failure(Empty, ReasonNoTokens, "stream ended without a token")
	case r.Finish == "" && x.answer.hasEnd && !x.target.Dialect.FinishOptional:
		const text = "stream ended after %d token frames without a finish reason, although its end ([DONE] or the like) came"
		return failure(Truncated, ReasonNoFinishReason, text, tokenFrames)
	case r.Finish == "" && !x.target.Dialect.FinishOptional:
		const text = "stream ended after %d token frames without a finish reason"
		return failure(Truncated, ReasonNoFinishReason, text, tokenFrames)
	}
	v := x.judgeLength(ending)
	if v.outcome != OK {
		return v
	}
	r.Wording = measureWording(x.answer.text.bytes)
	if x.isDegenerate() {
		const text = "the answer is one token again and again, from its first to its last of %d characters"
		return failure(WrongAnswer, ReasonDegenerate, text, r.Wording.Characters)
	}
	onlyThought := r.Timeline.FirstAnswerAt == 0 && ending == wire.AtLimit // the limit cut the reasoning
	if onlyThought {
		return verdict{outcome: OK}
	}
	if x.question.Expect.Values != nil {
		return x.judgeForm(ending)
	}
	return x.judgeCode()
}

// judgeCode looks for the words that a canary hid, in the answer as far as it was kept. The parts of the answer may
// come in any order.
func (x *exchange) judgeCode() verdict {
	var lost, found []string // depths
	for _, code := range x.question.Expect.Code {
		isFound := contains(x.answer.text.bytes, code.Words)
		x.result.Depths = append(x.result.Depths, Depth{At: code.Depth, Found: isFound})
		depth := strconv.FormatFloat(code.Depth, 'f', -1, 64)
		if isFound {
			found = append(found, depth)
		} else {
			lost = append(lost, depth)
		}
	}
	switch {
	case len(lost) == 0:
		return verdict{outcome: OK}
	case len(x.result.Depths) == 1:
		return failure(WrongAnswer, ReasonHiddenWordsMissing, "the answer does not contain the words hidden in the prompt")
	case len(found) == 0:
		return failure(WrongAnswer, ReasonHiddenWordsMissing,
			"the answer contains none of the words hidden in the prompt, at the depths %s", strings.Join(lost, ", "))
	}
	return failure(WrongAnswer, ReasonHiddenWordsMissing,
		"the answer does not contain the words hidden in the prompt at the depth %s, but those at %s",
		strings.Join(lost, ", "), strings.Join(found, ", "))
}

func (x *exchange) judgeLength(ending wire.Ending) verdict {
	usage := x.answer.total()
	prompt, output := usage.Prompt, usage.Generated()
	expect, known, maxTokens := x.question.Expect, x.question.known, x.question.Ask.MaxTokens
	if ending == wire.CutShort {
		const text = "prompt of %d tokens, asked %d, and answer of %d, asked %d: the server's context is too short"
		asked := cmp.Or(expect.Length, expect.Words)
		return failure(WrongLength, ReasonPromptOrAnswerCut, text, prompt.N, asked, output.N, maxTokens)
	}
	if expect.isCut(prompt) {
		asked := cmp.Or(expect.Length, expect.Confirmed.N, expect.Words)
		return failure(WrongLength, ReasonPromptOrAnswerCut, "prompt of %d tokens, asked %d: the server cut its %d words",
			prompt.N, asked, expect.Words)
	}
	if ending == wire.EndedEarly && (!output.Known || output.N < maxTokens) {
		const text = "answer of %d tokens, asked %d: the server ended it early (finish reason %q)"
		came := max(output.N, len(x.result.Timeline.Frames))
		return failure(WrongLength, ReasonAnswerEndedEarly, text, came, maxTokens, x.result.Finish)
	}
	isAtOtherLimit := ending == wire.AtLimit && (known.ExactLimit || output.N < maxTokens) // than the one asked for
	mustBeExact := known.ExactOutput && !x.question.Ask.MayEndEarly()
	isJudged := output.Known && (mustBeExact || isAtOtherLimit)
	if isJudged && output.N != maxTokens {
		const text = "answer of %d tokens, asked %d (finish reason %q)"
		return failure(WrongLength, ReasonPromptOrAnswerCut, text, output.N, maxTokens, x.result.Finish)
	}
	return verdict{outcome: OK}
}

// contains reports whether an answer has the expected words in their order, whatever their case, with at most three
// others between two of them: it may list them, with numbers or an "and".
func contains(answer []byte, expected string) bool {
	pattern := regexp.MustCompile(joinWords(expected, `( \S+){0,3} `))
	return pattern.MatchString(joinWords(string(answer), " "))
}

// joinWords returns the words of a text in lower case with something between them, and a space around them. Words are
// letters and digits only, which a pattern need not quote.
func joinWords(text, between string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return " " + strings.Join(words, between) + " "
}

// tooLong returns the verdict on an answer that goes on after the tokens that were asked for, whether or not it gave a
// finish reason in between; ok is false if it does not, as far as is known yet. Tokens that the server counts are
// proof. Frames alone are so only if there are several times as many: a gateway may cut the text of a token into
// pieces.
func (x *exchange) tooLong() (v verdict, ok bool) {
	const overrun = 3        // tokens beyond those asked: llama-server completes a character of several tokens
	const framesPerToken = 4 // at most
	asked := x.question.Ask.MaxTokens
	most := asked + overrun
	frames := len(x.result.Timeline.Frames)
	counted := max(x.answer.tokens.reported, x.answer.tokens.counted)
	var came string
	switch {
	case asked == 0:
		return verdict{}, false
	case counted > most:
		came = fmt.Sprintf("%d tokens", max(counted, frames))
	case frames > framesPerToken*most:
		came = fmt.Sprintf("%d token frames", frames)
	default:
		return verdict{}, false
	}
	piece := x.server.PieceTokens
	if piece > 0 && asked > piece && asked%piece > 0 {
		const text = "%s and no end, asked %d: the server generates long answers in whole pieces of %d tokens, " +
			"and the probe was canceled"
		return failure(WrongLength, ReasonAnswerInPieces, text, came, asked, piece), true
	}
	const text = "%s and no end, asked %d: the server ignores the limit of an answer's length, and the probe was canceled"
	return failure(WrongLength, ReasonAnswerBeyondLimit, text, came, asked), true
}

// broken returns the verdict on an answer whose end could not be read, because of err.
func (x *exchange) broken(ctx context.Context, err error) verdict {
	x.addUnfielded()
	doing := fmt.Sprintf("after %d token frames", len(x.result.Timeline.Frames))
	v, isInterrupted := interruption(ctx, doing, x.slowAnswerReason())
	isLate := v.outcome == Stalled || v.outcome == Timeout
	_, isCoding := errors.AsType[codingError](err)
	switch {
	case errors.Is(err, wire.ErrMalformed) && (!isInterrupted || isLate):
		place := doing
		if len(x.result.Timeline.Frames) == 0 {
			place = "before the first token frame"
		}
		return failure(Malformed, ReasonUnreadableData, "%w (%s)", err, place)
	case isLate && x.answer.serverErr != nil:
		return x.reported(x.answer.serverErr)
	case isLate && x.isWhole():
		x.result.closing = endMissing
		return x.complete()
	case isInterrupted:
		return v
	case errors.Is(err, stream.ErrTooLong):
		return failure(Malformed, ReasonUnreadableData, "%w", err)
	case isCoding:
		return failure(Malformed, ReasonUnreadableCompression, "%w", err)
	case x.answer.serverErr != nil:
		return x.reported(x.answer.serverErr)
	}
	return cutBody(err, "stream cut "+doing)
}

// slowAnswerReason returns what was too slow in an answer whose header came in time.
func (x *exchange) slowAnswerReason() Reason {
	if len(x.result.Timeline.Frames) > 0 {
		return ReasonStreamTooSlow
	}
	return ReasonNoTokenInTime
}

// isWhole reports whether nothing is missing in an answer but its end: it gave a finish reason, or has all tokens that
// were asked for where there is none.
func (x *exchange) isWhole() bool {
	asked := x.question.Ask.MaxTokens
	return x.result.Finish != "" || x.target.Dialect.FinishOptional && asked > 0 && len(x.result.Timeline.Frames) >= asked
}

// reported returns the verdict on an error that the server wrote in its answer, or in place of it.
func (x *exchange) reported(e *wire.ServerError) verdict {
	v := errorVerdict(e, x.errorFrame, len(x.result.Timeline.Frames) > 0)
	if v.outcome == Rejected && x.result.rejected == nil {
		x.result.rejected = []byte(e.Error())
		if x.errorFrame != nil {
			x.result.rejected = x.errorFrame
		}
	}
	return v
}
