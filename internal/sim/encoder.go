package sim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// doneFrame ends most OpenAI streams, also after an error.
const doneFrame = "data: [DONE]\n\n"

// encoder encodes one answer as a kind does. It belongs to the answer's goroutine.
type encoder struct {
	*answer
	kind   *kind
	how    *routeFormat
	object string
	id     string
	chunk  string // how.chunk with all filled in that is the same in every frame
	moulds moulds
	frames []byte // that were encoded last
}

func newEncoder(a *answer, k *kind, how *routeFormat, object string) *encoder {
	s := &encoder{answer: a, kind: k, how: how, object: object}
	s.id = expand(how.id, func(name string) string { return s.hole(filling{}, name) })
	s.chunk = expand(how.chunk, s.fixed)
	return s
}

// fixed fills what is the same in every frame and leaves the rest; a $ that it brings in is doubled, which hole undoes.
func (s *encoder) fixed(name string) string {
	switch name {
	case "id", "object", "created", "model":
		return strings.ReplaceAll(s.hole(filling{}, name), "$", "$$")
	}
	return "$" + name
}

// script is the whole answer.
func (s *encoder) script(whole func() any) script {
	out := script{
		header:  map[string]string{},
		late:    s.kind.late,
		prelude: []byte(s.kind.prelude),
		frame:   s.frame,
		failure: []byte(s.broken()),
		severs:  s.kind.cuts,
		comment: []byte(s.kind.comment),
		waiting: []byte(s.kind.waiting),
		batch:   s.kind.batch,
		whole:   whole,
	}
	for name, template := range s.kind.computed {
		out.header[name] = expand(template, func(name string) string { return s.hole(filling{}, name) })
	}
	if s.kind.single {
		out.most = 1
	}
	if s.how.role != "" {
		end := "\n\n"
		if s.how.roleEnd != "" {
			end = s.how.roleEnd
		}
		out.opening = []byte(s.line(filling{choice: s.how.role, usage: s.count(0)}) + end)
	}
	out.closing = []byte(doneFrame)
	if !s.how.joined {
		out.closing = []byte(s.total() + doneFrame)
	}
	return out
}

// filling is what a frame holds besides what all frames of an answer have in common.
type filling struct {
	choice   string // template
	from, to int    // its tokens
	usage    string
	timed    bool
}

// frame spells the tokens [from, to), all of them reasoning or none, and the finish frame behind the last.
func (s *encoder) frame(from, to int) []byte {
	ends, out := to == s.want, s.frames[:0]
	if !ends && !s.how.hushed && (s.how.first == "" || from > s.hidden) {
		s.frames = s.pour(out, s.mouldOf(from < s.reasoning), filling{from: from, to: to, timed: s.timings})
		return s.frames
	}
	closes := ends && s.how.final == ""
	if !s.how.hushed || s.ids && from < to || s.textOf(from, to) != "" {
		choice := s.how.token
		switch {
		case ends && s.how.last != "":
			choice = s.how.last
		case from == s.hidden && s.how.first != "":
			choice = s.how.first
		}
		out = append(out, s.line(filling{choice: choice, from: from, to: to, usage: s.countAt(to, closes), timed: s.timings})...)
		out = append(out, "\n\n"...)
	}
	if ends && s.how.final != "" {
		out = append(out, s.line(filling{choice: s.how.final, from: to, to: to, usage: s.countAt(to, true), timed: !s.counts()})+"\n\n"...)
	}
	if ends && s.how.joined {
		out = append(out, s.total()...)
	}
	s.frames = out
	return out
}

// total is the frames with the whole count, if they are to be sent.
func (s *encoder) total() string {
	if !s.counts() {
		return ""
	}
	out := s.line(filling{usage: s.usageOf(s.how.usage, s.want), timed: true}) + "\n\n"
	if s.fault.DoubleUsage {
		out += s.line(filling{usage: s.usageOf(plainUsage, s.want)}) + "\n\n"
	}
	return out
}

// counts reports whether a frame of its own has the whole count.
func (s *encoder) counts() bool {
	return s.how.report == reportAlways || s.how.report == reportAsked && s.usage
}

// countAt is what a frame that ends before token to says of usage; closes is whether it has the finish reason.
func (s *encoder) countAt(to int, closes bool) string {
	if closes && s.how.report == reportInside {
		return s.usageOf(s.how.usage, s.want)
	}
	return s.count(to)
}

// count is what a frame says of usage after so many tokens.
func (s *encoder) count(completion int) string {
	switch {
	case s.continuous && s.how.running != "":
		return s.usageOf(s.how.running, completion)
	case s.how.idle != "" && (s.usage || !s.how.idling):
		return `,"usage":` + s.how.idle
	}
	return ""
}

// usageOf fills a template for usage after so many tokens.
func (s *encoder) usageOf(template string, completion int) string {
	return `,"usage":` + s.countOf(template, completion)
}

func (s *encoder) countOf(template string, completion int) string {
	completion = s.counted(completion)
	return expand(template, func(name string) string {
		switch name {
		case "prompt":
			return strconv.Itoa(s.prompt.tokens)
		case "completion":
			return strconv.Itoa(completion)
		case "total":
			return strconv.Itoa(s.prompt.tokens + completion)
		case "cached":
			return strconv.Itoa(s.cached)
		case "details":
			if s.cached == 0 {
				return "null"
			}
			return fmt.Sprintf(`{"cached_tokens":%d}`, s.cached)
		case "thought":
			return strconv.Itoa(min(completion, s.reasoning))
		case "parts":
			if s.reasoning == 0 {
				return "null"
			}
			return fmt.Sprintf(`{"reasoning_tokens":%d}`, s.reasoning)
		case "thoughts":
			if s.reasoning > 0 {
				return fmt.Sprintf(`,"completion_tokens_details":{"reasoning_tokens":%d}`, s.reasoning)
			}
		}
		return ""
	})
}

// counted is how many of so many tokens usage counts.
func (s *encoder) counted(completion int) int {
	if s.kind.uncounted && s.finish == "stop" {
		return min(completion, s.want-1)
	}
	return completion
}

// line is one frame without its end.
func (s *encoder) line(c filling) string {
	return expand(s.chunk, func(name string) string { return s.hole(c, name) })
}

// hole is what a template of an answer may hold.
func (s *encoder) hole(c filling, name string) string {
	switch name {
	case "$":
		return "$"
	case "id":
		return quoted(s.id)
	case "request":
		return s.requestID()
	case "number":
		return strconv.FormatUint(s.answer.id, 10)
	case "digits":
		return fmt.Sprintf("%032x", s.answer.id)
	case "object":
		return s.object
	case "created":
		return strconv.FormatInt(s.start.Unix(), 10)
	case "model":
		return quoted(s.model)
	case "choice":
		return expand(c.choice, func(name string) string { return s.hole(c, name) })
	case "usage":
		return c.usage
	case "delta":
		template := s.how.delta
		if c.from < c.to && c.from < s.reasoning {
			template = s.how.thought
		}
		return expand(template, func(name string) string { return s.hole(c, name) })
	case "text":
		return quoted(s.textOf(c.from, c.to))
	case "finish":
		return `"` + s.finish + `"`
	case "matched":
		if s.finish == "stop" {
			return strconv.Itoa(endID)
		}
		return "null"
	case "ids":
		return s.idsOf(c.from, c.to)
	case "padding":
		return s.padding(c)
	case "timings":
		return s.clocks(c)
	case "elapsed":
		return strconv.FormatInt(time.Since(s.start).Milliseconds(), 10)
	}
	return ""
}

// idsOf is the ids of the tokens [from, to), if they were asked for.
func (s *encoder) idsOf(from, to int) string {
	if !s.ids {
		return "null"
	}
	return string(mustJSON(s.tokenIDs(from, to)))
}

// padding hides the length of a frame's text, unless that was declined.
func (s *encoder) padding(c filling) string {
	if s.bare {
		return ""
	}
	const letters = "kQ3vTz8LrYw1Nd6B"
	return `,"obfuscation":"` + letters[:1+(7*c.to+3)%len(letters)] + `"`
}

// clocks is llama-server's timings so far.
func (s *encoder) clocks(c filling) string {
	if !c.timed {
		return ""
	}
	now, n := time.Now(), c.to
	if n == 0 {
		n = s.want
	}
	first := now
	if !s.first.IsZero() {
		first = s.fault.stretch(s.origin, s.first, s.first)
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return `,"timings":` + string(mustJSON(struct {
		Cached      int     `json:"cache_n"`
		Prompt      int     `json:"prompt_n"`
		PromptMS    float64 `json:"prompt_ms"`
		Predicted   int     `json:"predicted_n"`
		PredictedMS float64 `json:"predicted_ms"`
	}{s.cached, s.prompt.tokens - s.cached, ms(first.Sub(s.origin)), n, ms(now.Sub(first))}))
}

// broken is an error inside the stream.
func (s *encoder) broken() string {
	r := refusal{status: http.StatusInternalServerError, message: "Simulated fault: the engine failed."}
	return expand(s.kind.broken, func(name string) string {
		if text, ok := s.kind.told(r, name); ok {
			return text
		}
		return s.hole(filling{}, name)
	})
}

// told is what a template of an error may hold.
func (k *kind) told(r refusal, name string) (string, bool) {
	switch name {
	case "message":
		return quoted(r.message), true
	case "plain":
		return r.message, true
	case "type":
		if r.kind == "" {
			r.kind = byStatus(k.errorTypes, r.status)
		}
		return quoted(r.kind), true
	case "param":
		return orNull(r.param), true
	case "code":
		return strconv.Itoa(r.status), true
	case "name":
		if r.name == "" {
			r.name = byStatus(k.errorCodes, r.status)
		}
		return orNull(r.name), true
	case "tokens":
		return strconv.Itoa(r.tokens), true
	case "length":
		return strconv.Itoa(r.length), true
	}
	return "", false
}

// byStatus finds what stands for a status, or for its hundreds.
func byStatus(table map[int]string, status int) string {
	if text, ok := table[status]; ok {
		return text
	}
	return table[min(status/100, 5)]
}

// orNull is a JSON string, null for none.
func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return quoted(text)
}

// dress sets the headers that a kind has on every response. A request without an id is given one if they show it.
func (s *Server) dress(w http.ResponseWriter, r *http.Request) {
	for _, name := range slices.Sorted(maps.Keys(s.kind.headers)) {
		template := s.kind.headers[name]
		if strings.Contains(template, "$request") && r.Header.Get("X-Request-Id") == "" {
			r.Header.Set("X-Request-Id", fmt.Sprintf("%032x", s.visits.Add(1)))
		}
		w.Header().Set(name, expand(template, func(string) string { return r.Header.Get("X-Request-Id") }))
	}
}
