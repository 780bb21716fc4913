package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// plainUsage is the usage frame that the fault "double_usage" adds: it lacks cached_tokens.
const plainUsage = `{"prompt_tokens":$prompt,"total_tokens":$total,"completion_tokens":$completion}`

// encoder encodes one answer as its format says. It belongs to the answer's goroutine.
type encoder struct {
	*answer
	format *answerFormat
	errors *errorFormat
	id     string
	events int // numbered so far
}

func newEncoder(a *answer, format *answerFormat) *encoder {
	e := &encoder{answer: a, format: format, errors: &a.server.serverType.Errors}
	e.id = e.fill(format.ID)
	return e
}

// frame is what one frame holds besides what all frames of an answer have in common.
type frame struct {
	choice   string // template
	from, to int    // its tokens
	usage    string
}

// fill is a text that belongs to no token.
func (e *encoder) fill(template string) string {
	return expand(template, func(name string) string { return e.placeholder(frame{}, name) })
}

// chunk is one frame.
func (e *encoder) chunk(c frame) string {
	return expand(e.format.Chunk, func(name string) string { return e.placeholder(c, name) })
}

// role is the frame before the first token; empty if there is none.
func (e *encoder) role() string {
	if e.format.Role == "" {
		return ""
	}
	return e.chunk(frame{choice: e.format.Role, usage: e.usageAt(0, false)})
}

// tokens encodes the tokens [from, to), all of them reasoning or none, and the final frame behind the last. from is to where
// all tokens of an answer are hidden.
func (e *encoder) tokens(from, to int) string {
	f, ends := e.format, to == e.want
	out := ""
	if from == e.reasoning && e.thinking() {
		out = e.fill(f.Switch)
	}
	if !f.SkipEmpty || e.flags["ids"] && from < to || e.textOf(from, to) != "" {
		choice := f.Token
		switch {
		case ends && f.Last != "":
			choice = f.Last
		case from == e.hidden && f.First != "":
			choice = f.First
		}
		out += e.chunk(frame{choice, from, to, e.usageAt(to, ends && f.Final == "")})
	}
	if ends && f.Final != "" {
		out += e.chunk(frame{f.Final, to, to, e.usageAt(to, true)})
	}
	return out
}

// closing is what follows the last token: the whole count, if it has a frame of its own, and the end.
func (e *encoder) closing() string {
	f, out := e.format, ""
	if f.Usage != "" && (f.UsageIn == "always" || f.UsageIn == "" && e.flags["usage"]) {
		out = e.chunk(frame{to: e.want, usage: e.usageOf(f.Usage, e.want)})
		if e.fault.DoubleUsage {
			out += e.chunk(frame{to: e.want, usage: e.usageOf(plainUsage, e.want)})
		}
	}
	return out + e.fill(f.Closing)
}

// usageAt is what a frame that ends before token to says of usage; last is whether it has the finish reason.
func (e *encoder) usageAt(to int, last bool) string {
	f := e.format
	switch {
	case last && f.UsageIn == "final":
		return e.usageOf(f.Usage, e.want)
	case e.flags["continuous"] && f.Running != "":
		return e.usageOf(f.Running, to)
	case f.NoUsage != "" && (f.NoUsageWhen == "" || e.flags[f.NoUsageWhen]):
		return `,"usage":` + f.NoUsage
	}
	return ""
}

func (e *encoder) usageOf(template string, to int) string {
	return `,"usage":` + expand(template, func(name string) string { return e.placeholder(frame{to: to}, name) })
}

// placeholder is what a template of an answer may hold.
func (e *encoder) placeholder(c frame, name string) string {
	inner := func(name string) string { return e.placeholder(c, name) }
	if p, ok := e.format.Parts[name]; ok {
		if p.When == "" || e.on(p.When, c) {
			return expand(p.Is, inner)
		}
		return expand(p.Else, inner)
	}
	switch name {
	case "id":
		return e.id
	case "request": // the client's id of it, or ours
		return e.header.Get("X-Request-Id")
	case "number":
		return strconv.FormatUint(e.answer.id, 10)
	case "seq": // number of an event
		e.events++
		return strconv.Itoa(e.events - 1)
	case "model":
		return quoted(e.model)
	case "choice":
		return expand(c.choice, inner)
	case "usage":
		return c.usage
	case "delta":
		if c.from < c.to && c.from < e.reasoning {
			return expand(e.format.Thought, inner)
		}
		return expand(e.format.Delta, inner)
	case "finish":
		return quoted(cmp.Or(e.format.Finish[e.finish], e.finish))
	}
	if text, ok := e.textPlaceholder(c, name); ok {
		return text
	}
	if text, ok := e.countPlaceholder(c, name); ok {
		return text
	}
	if text, ok := e.timePlaceholder(name); ok {
		return text
	}
	return e.errors.placeholder(refusal{status: http.StatusInternalServerError, message: engineFailed}, name)
}

// on reports whether a flag holds for an answer and a frame.
func (e *encoder) on(flag string, c frame) bool {
	if name, negated := strings.CutPrefix(flag, "!"); negated {
		return !e.on(name, c)
	}
	switch flag {
	case "stop", "length":
		return e.finish == flag
	case "cached":
		return e.cached > 0
	case "reasoning":
		return e.reasoning > 0
	case "thinking":
		return e.thinking()
	case "end":
		return c.from < c.to && e.ends(c.to-1)
	}
	return e.flags[flag]
}

// thinking reports whether there is reasoning that is shown.
func (e *encoder) thinking() bool { return e.reasoning > e.hidden }

// textPlaceholder is about what the answer says.
func (e *encoder) textPlaceholder(c frame, name string) (string, bool) {
	switch name {
	case "text": // of the frame
		return quoted(e.textOf(c.from, c.to)), true
	case "ids":
		return string(mustJSON(e.tokenIDs(c.from, c.to))), true
	case "tokenid": // of the frame's first token
		return strconv.FormatUint(uint64(e.tokenID(c.from)), 10), true
	case "sofar": // all text to the end of the frame
		return quoted(e.textOf(0, c.to)), true
	case "idssofar":
		return string(mustJSON(e.tokenIDs(0, c.to))), true
	case "answer": // the whole text without its reasoning
		return quoted(e.textOf(e.reasoning, e.want)), true
	case "thoughts": // the reasoning that is shown
		return quoted(e.textOf(e.hidden, e.reasoning)), true
	}
	return "", false
}

// countPlaceholder counts tokens.
func (e *encoder) countPlaceholder(c frame, name string) (string, bool) {
	completion := c.to
	if e.format.EndUncounted && e.finish == "stop" {
		completion = min(completion, e.want-1)
	}
	n := 0
	switch name {
	case "prompt":
		n = e.prompt.tokens
	case "completion": // so far
		n = completion
	case "total":
		n = e.prompt.tokens + completion
	case "want":
		n = e.want
	case "whole":
		n = e.prompt.tokens + e.want
	case "cached":
		n = e.cached
	case "uncached":
		n = e.prompt.tokens - e.cached
	case "thought": // so far
		n = min(completion, e.reasoning)
	case "frametokens":
		n = c.to - c.from
	case "max": // that was asked for
		n = e.max
	default:
		return "", false
	}
	return strconv.Itoa(n), true
}

// timePlaceholder is about when.
func (e *encoder) timePlaceholder(name string) (string, bool) {
	first, rest := e.firstAt.Sub(e.origin), e.lastAt.Sub(e.firstAt)
	switch name {
	case "created":
		return strconv.FormatInt(e.start.Unix(), 10), true
	case "now":
		return e.lastAt.UTC().Format(time.RFC3339Nano), true
	case "elapsed":
		return strconv.FormatInt(time.Since(e.start).Milliseconds(), 10), true
	case "promptns":
		return strconv.FormatInt(int64(first), 10), true
	case "answerns":
		return strconv.FormatInt(int64(rest), 10), true
	case "totalns":
		return strconv.FormatInt(int64(e.lastAt.Sub(e.start)), 10), true
	case "promptms":
		return fmt.Sprint(inMS(first)), true
	case "answerms":
		return fmt.Sprint(inMS(rest)), true
	case "latency": // seconds
		return fmt.Sprint(e.lastAt.Sub(e.origin).Seconds()), true
	}
	return "", false
}

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
