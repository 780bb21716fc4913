package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
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
	return os.Expand(template, func(name string) string { return e.placeholder(frame{}, name) })
}

// chunk is one frame.
func (e *encoder) chunk(c frame) string {
	return os.Expand(e.format.Chunk, func(name string) string { return e.placeholder(c, name) })
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
	return `,"usage":` + os.Expand(template, func(name string) string { return e.placeholder(frame{to: to}, name) })
}

// placeholder fills in what a template of an answer may hold: one of answerTexts, a part of the file, or what
// a template of an error may hold.
func (e *encoder) placeholder(c frame, name string) string {
	inner := func(name string) string { return e.placeholder(c, name) }
	if p, ok := e.format.Parts[name]; ok {
		if p.When == "" || e.on(p.When, c) {
			return os.Expand(p.Is, inner)
		}
		return os.Expand(p.Else, inner)
	}
	switch name {
	case "choice":
		return os.Expand(c.choice, inner)
	case "delta":
		if c.from < c.to && c.from < e.reasoning {
			return os.Expand(e.format.Thought, inner)
		}
		return os.Expand(e.format.Delta, inner)
	}
	if text, ok := answerTexts[name]; ok {
		return text(e, c)
	}
	return e.errors.placeholder(refusal{status: http.StatusInternalServerError, message: engineFailed}, name)
}

// answerTexts are what an answer and a frame of it can tell. They are only read.
var answerTexts = map[string]func(e *encoder, c frame) string{
	"id":      func(e *encoder, _ frame) string { return e.id },
	"request": func(e *encoder, _ frame) string { return e.header.Get("X-Request-Id") }, // the client's, or ours
	"number":  func(e *encoder, _ frame) string { return fmt.Sprint(e.answer.id) },
	"seq":     func(e *encoder, _ frame) string { return strconv.Itoa(e.nextEvent()) },
	"model":   func(e *encoder, _ frame) string { return quoted(e.model) },
	"usage":   func(_ *encoder, c frame) string { return c.usage },
	"finish":  func(e *encoder, _ frame) string { return quoted(cmp.Or(e.format.Finish[e.finish], e.finish)) },

	// Texts and ids: of the frame, of all to its end, of the answer without its reasoning, of the reasoning that is shown.
	"text":     func(e *encoder, c frame) string { return quoted(e.textOf(c.from, c.to)) },
	"ids":      func(e *encoder, c frame) string { return string(mustJSON(e.tokenIDs(c.from, c.to))) },
	"tokenid":  func(e *encoder, c frame) string { return fmt.Sprint(e.tokenIDs(c.from, c.from+1)[0]) },
	"sofar":    func(e *encoder, c frame) string { return quoted(e.textOf(0, c.to)) },
	"idssofar": func(e *encoder, c frame) string { return string(mustJSON(e.tokenIDs(0, c.to))) },
	"answer":   func(e *encoder, _ frame) string { return quoted(e.textOf(e.reasoning, e.want)) },
	"thoughts": func(e *encoder, _ frame) string { return quoted(e.textOf(e.hidden, e.reasoning)) },

	// Numbers of tokens: completion, total and thought so far; want and whole at the end; max as it was asked for.
	"prompt":      func(e *encoder, _ frame) string { return strconv.Itoa(e.prompt.tokens) },
	"completion":  func(e *encoder, c frame) string { return strconv.Itoa(e.counted(c)) },
	"total":       func(e *encoder, c frame) string { return strconv.Itoa(e.prompt.tokens + e.counted(c)) },
	"thought":     func(e *encoder, c frame) string { return strconv.Itoa(min(e.counted(c), e.reasoning)) },
	"want":        func(e *encoder, _ frame) string { return strconv.Itoa(e.want) },
	"whole":       func(e *encoder, _ frame) string { return strconv.Itoa(e.prompt.tokens + e.want) },
	"cached":      func(e *encoder, _ frame) string { return strconv.Itoa(e.cached) },
	"uncached":    func(e *encoder, _ frame) string { return strconv.Itoa(e.prompt.tokens - e.cached) },
	"frametokens": func(_ *encoder, c frame) string { return strconv.Itoa(c.to - c.from) },
	"max":         func(e *encoder, _ frame) string { return strconv.Itoa(e.max) },

	// Moments and durations, in the unit that the name ends with; created and latency in seconds, elapsed in ms.
	"created":  func(e *encoder, _ frame) string { return fmt.Sprint(e.start.Unix()) },
	"now":      func(e *encoder, _ frame) string { return e.lastAt.UTC().Format(time.RFC3339Nano) },
	"elapsed":  func(e *encoder, _ frame) string { return fmt.Sprint(time.Since(e.start).Milliseconds()) },
	"promptns": func(e *encoder, _ frame) string { return fmt.Sprint(e.firstAt.Sub(e.origin).Nanoseconds()) },
	"answerns": func(e *encoder, _ frame) string { return fmt.Sprint(e.lastAt.Sub(e.firstAt).Nanoseconds()) },
	"totalns":  func(e *encoder, _ frame) string { return fmt.Sprint(e.lastAt.Sub(e.start).Nanoseconds()) },
	"promptms": func(e *encoder, _ frame) string { return fmt.Sprint(inMS(e.firstAt.Sub(e.origin))) },
	"answerms": func(e *encoder, _ frame) string { return fmt.Sprint(inMS(e.lastAt.Sub(e.firstAt))) },
	"latency":  func(e *encoder, _ frame) string { return fmt.Sprint(e.lastAt.Sub(e.origin).Seconds()) },
}

// nextEvent numbers the events of an answer from 0.
func (e *encoder) nextEvent() int {
	e.events++
	return e.events - 1
}

// counted is how many tokens usage counts up to the end of a frame.
func (e *encoder) counted(c frame) int {
	if e.format.EndUncounted && e.finish == "stop" {
		return min(c.to, e.want-1)
	}
	return c.to
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

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
