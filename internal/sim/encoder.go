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

// frame is what one frame holds besides what all frames of an answer have in common.
type frame struct {
	choice   string // template
	from, to int    // its tokens
	usage    string
}

// fill puts what an answer and a frame of it tell into a template.
func (a *answer) fill(template string, c frame) string {
	return os.Expand(template, func(name string) string { return a.placeholder(c, name) })
}

func (a *answer) role() string {
	if a.format.Role == "" {
		return ""
	}
	return a.fill(a.format.Chunk, frame{choice: a.format.Role, usage: a.usageAt(0, false)})
}

// tokenFrames encodes the tokens [from, to), all of them reasoning or none, and the final frame behind the last.
func (a *answer) tokenFrames(from, to int) string {
	f, ends := a.format, to == a.want
	out := ""
	if from == a.reasoning && a.thinking() {
		out = a.fill(f.Switch, frame{})
	}
	if !f.SkipEmpty || a.flags["ids"] && from < to || a.textOf(from, to) != "" {
		choice := f.Token
		switch {
		case ends && f.Last != "":
			choice = f.Last
		case from == a.hidden && f.First != "":
			choice = f.First
		}
		out += a.fill(f.Chunk, frame{choice, from, to, a.usageAt(to, ends && f.Final == "")})
	}
	if ends && f.Final != "" {
		out += a.fill(f.Chunk, frame{f.Final, to, to, a.usageAt(to, true)})
	}
	return out
}

// closing is what follows the last token: the whole count, if it has a frame of its own, and the end.
func (a *answer) closing() string {
	f, out := a.format, ""
	if f.Usage != "" && (f.UsageIn == "always" || f.UsageIn == "" && a.flags["usage"]) {
		out = a.fill(f.Chunk, frame{to: a.want, usage: a.usageOf(f.Usage, a.want)})
		if a.fault.DoubleUsage {
			out += a.fill(f.Chunk, frame{to: a.want, usage: a.usageOf(plainUsage, a.want)})
		}
	}
	return out + a.fill(f.Closing, frame{})
}

// usageAt is what a frame that ends before token to says of usage; last is whether it has the finish reason.
func (a *answer) usageAt(to int, last bool) string {
	f := a.format
	switch {
	case last && f.UsageIn == "final":
		return a.usageOf(f.Usage, a.want)
	case a.flags["continuous"] && f.Running != "":
		return a.usageOf(f.Running, to)
	case f.NoUsage != "" && (f.NoUsageWhen == "" || a.flags[f.NoUsageWhen]):
		return `,"usage":` + f.NoUsage
	}
	return ""
}

func (a *answer) usageOf(template string, to int) string {
	return `,"usage":` + a.fill(template, frame{to: to})
}

// placeholder fills in one of answerTexts, a part of the file, or what a template of an error may hold.
func (a *answer) placeholder(c frame, name string) string {
	if p, ok := a.format.Parts[name]; ok {
		if p.When == "" || a.on(p.When, c) {
			return a.fill(p.Is, c)
		}
		return a.fill(p.Else, c)
	}
	switch {
	case name == "choice":
		return a.fill(c.choice, c)
	case name == "delta" && c.from < c.to && c.from < a.reasoning:
		return a.fill(a.format.Thought, c)
	case name == "delta":
		return a.fill(a.format.Delta, c)
	}
	if text, ok := answerTexts[name]; ok {
		return text(a, c)
	}
	return a.server.serverType.Errors.placeholder(refusal{status: http.StatusInternalServerError, message: engineFailed}, name)
}

// answerTexts are what an answer and a frame of it can tell. They are only read.
var answerTexts = map[string]func(a *answer, c frame) string{
	"id":      func(a *answer, _ frame) string { return a.name },
	"request": func(a *answer, _ frame) string { return a.header.Get("X-Request-Id") }, // the client's, or ours
	"number":  func(a *answer, _ frame) string { return fmt.Sprint(a.id) },
	"seq": func(a *answer, _ frame) string { // from 0
		a.events++
		return strconv.Itoa(a.events - 1)
	},
	"model":  func(a *answer, _ frame) string { return quoted(a.model) },
	"usage":  func(_ *answer, c frame) string { return c.usage },
	"finish": func(a *answer, _ frame) string { return quoted(cmp.Or(a.format.Finish[a.finish], a.finish)) },

	// Texts and ids: of the frame, of all to its end, of the answer without its reasoning, of the reasoning that is shown.
	"text":     func(a *answer, c frame) string { return quoted(a.textOf(c.from, c.to)) },
	"ids":      func(a *answer, c frame) string { return string(mustJSON(a.tokenIDs(c.from, c.to))) },
	"tokenid":  func(a *answer, c frame) string { return fmt.Sprint(a.tokenIDs(c.from, c.from+1)[0]) },
	"sofar":    func(a *answer, c frame) string { return quoted(a.textOf(0, c.to)) },
	"idssofar": func(a *answer, c frame) string { return string(mustJSON(a.tokenIDs(0, c.to))) },
	"answer":   func(a *answer, _ frame) string { return quoted(a.textOf(a.reasoning, a.want)) },
	"thoughts": func(a *answer, _ frame) string { return quoted(a.textOf(a.hidden, a.reasoning)) },

	// Numbers of tokens: completion, total and thought up to the end of the frame; max as it was asked for.
	"prompt":      func(a *answer, _ frame) string { return strconv.Itoa(a.prompt.tokens) },
	"completion":  func(a *answer, c frame) string { return strconv.Itoa(a.counted(c)) },
	"total":       func(a *answer, c frame) string { return strconv.Itoa(a.prompt.tokens + a.counted(c)) },
	"thought":     func(a *answer, c frame) string { return strconv.Itoa(min(a.counted(c), a.reasoning)) },
	"cached":      func(a *answer, _ frame) string { return strconv.Itoa(a.cached) },
	"uncached":    func(a *answer, _ frame) string { return strconv.Itoa(a.prompt.tokens - a.cached) },
	"frametokens": func(_ *answer, c frame) string { return strconv.Itoa(c.to - c.from) },
	"max":         func(a *answer, _ frame) string { return strconv.Itoa(a.max) },

	// Moments and durations, in the unit that the name ends with; created and latency in seconds, elapsed in ms.
	"created":  func(a *answer, _ frame) string { return fmt.Sprint(a.start.Unix()) },
	"now":      func(a *answer, _ frame) string { return a.lastAt.UTC().Format(time.RFC3339Nano) },
	"elapsed":  func(a *answer, _ frame) string { return fmt.Sprint(time.Since(a.start).Milliseconds()) },
	"promptns": func(a *answer, _ frame) string { return fmt.Sprint(a.firstAt.Sub(a.origin).Nanoseconds()) },
	"answerns": func(a *answer, _ frame) string { return fmt.Sprint(a.lastAt.Sub(a.firstAt).Nanoseconds()) },
	"totalns":  func(a *answer, _ frame) string { return fmt.Sprint(a.lastAt.Sub(a.start).Nanoseconds()) },
	"promptms": func(a *answer, _ frame) string { return fmt.Sprint(inMS(a.firstAt.Sub(a.origin))) },
	"answerms": func(a *answer, _ frame) string { return fmt.Sprint(inMS(a.lastAt.Sub(a.firstAt))) },
	"latency":  func(a *answer, _ frame) string { return fmt.Sprint(a.lastAt.Sub(a.origin).Seconds()) },
}

func (a *answer) counted(c frame) int {
	if a.format.EndUncounted && a.finish == "stop" {
		return min(c.to, a.want-1)
	}
	return c.to
}

func (a *answer) on(flag string, c frame) bool {
	if name, negated := strings.CutPrefix(flag, "!"); negated {
		return !a.on(name, c)
	}
	switch flag {
	case "stop", "length":
		return a.finish == flag
	case "cached":
		return a.cached > 0
	case "reasoning":
		return a.reasoning > 0
	case "thinking":
		return a.thinking()
	case "end":
		return c.from < c.to && a.ends(c.to-1)
	}
	return a.flags[flag]
}

func (a *answer) thinking() bool { return a.reasoning > a.hidden }

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
