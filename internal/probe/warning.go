package probe

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/llm-prober/prober/internal/wire"
)

// A Derived warning says in words what other fields of the [Result] say as well: summaries of many
// results count those instead.
type Derived struct{ error }

// warnings says what is unreliable about the numbers of a probe with that many tokens asked for and
// promptTokens in its prompt; 0: unknown. A failed probe has no number but the longest gap.
func warnings(r *Result, maxTokens, promptTokens int) []error {
	list := belated(r)
	if errors.Is(r.Err, ErrUnlimited) {
		list = append(list, fmt.Errorf("%w (max_tokens or its like): the probe was canceled when more tokens than asked had arrived", ErrUnlimited))
	}
	if r.Outcome != OK {
		return list
	}
	warn := func(format string, args ...any) { list = append(list, fmt.Errorf(format, args...)) }
	derived := func(format string, args ...any) { list = append(list, Derived{fmt.Errorf(format, args...)}) }
	output := r.Usage.Generated()
	if prompt := r.Usage.Prompt; prompt.Known && promptTokens > 0 && prompt.N != promptTokens {
		warn("the server counts %d tokens of prompt, asked %d (%+d)", prompt.N, promptTokens, prompt.N-promptTokens)
	}
	switch {
	case !output.Known:
		derived("the server did not say how many tokens it generated: no TPOT, no ITL")
	case output.N != maxTokens:
		warn("%d tokens generated, asked %d", output.N, maxTokens)
	}
	if output.Known && r.Source == FromNobody {
		derived("%d tokens in %d frames, and no frame says how many it carries: no ITL", output.N, len(r.Timeline.Tokens))
	}
	if r.Hidden {
		derived("some tokens are reasoning that no frame showed: TTFT is that of the first token shown")
	}
	if n := r.Timeline.Bursts(); n > 0 && 2*n >= len(r.Timeline.Tokens) {
		derived("%d of %d token frames arrived together with the one before: something batches them", n, len(r.Timeline.Tokens))
	}
	if r.Cache == CacheContaminated {
		derived("cold prompt, but the server found %d tokens of it in its cache: TTFT is not that of a cold prompt", r.Usage.Cached.N)
	}
	return list
}

// belated says what a late reader cost: which numbers are means, and which are missing.
func belated(r *Result) []error {
	joined, missing := r.Timeline.JoinedTokens(), uncertain(r)
	if joined == 0 && missing == nil {
		return nil
	}
	latest, _ := r.Timeline.MaxReadDelay()
	text := fmt.Sprintf("the prober read up to %v late", latest.Round(10*time.Microsecond))
	if joined > 0 {
		text += fmt.Sprintf(", and %d tokens together with others", joined)
	}
	if joined > 0 && r.Taint == "" {
		text += ", so that their ITL is a mean"
	}
	if missing != nil {
		text += ": no " + strings.Join(missing, ", no ")
	}
	return []error{Derived{errors.New(text)}}
}

// uncertain names the numbers that a probe lacks because arrivals are in doubt.
func uncertain(r *Result) []string {
	var names []string
	lacks := func(name string, known, sampled bool) {
		if known && !sampled {
			names = append(names, name)
		}
	}
	t := &r.Timeline
	_, first := t.TTFT()
	_, ttft := r.TTFT()
	_, e2el := r.E2EL()
	_, longest := r.MaxGap()
	lacks("TTFT", first, ttft)
	lacks("ITL", r.Taint != "", false)
	lacks("max gap", len(t.Tokens) > 1, longest)
	lacks("E2EL", r.Outcome == OK, e2el)
	return names
}

// shortest is the length of the shortest secret that is looked for, in bytes.
const shortest = 6

// hide replaces a secret in a text, and the start of it where the text was cut
// within.
func hide(text, secret string) string {
	text = strings.ReplaceAll(text, secret, "***")
	for n := min(len(secret)-1, len(text)); n >= shortest; n-- {
		text = strings.ReplaceAll(text, secret[:n]+wire.Cut, "***"+wire.Cut)
	}
	return text
}

// repeated is how many bytes in a row an error may share with the prompt before
// it is withheld.
const repeated = 32

// betweenSecrets reports whether c parts the words of a header's value: a cookie
// holds several secrets, and who repeats one need not repeat what is around it.
func betweenSecrets(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`;,="'`, c) }

// scrub removes from an error what must not be shown: header values, which are
// secrets, and the prompt. A server may repeat either.
func scrub(err error, secrets http.Header, ask wire.Ask) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	clean := text
	for _, values := range secrets {
		for _, value := range values {
			for secret := range strings.FieldsFuncSeq(value, betweenSecrets) {
				if len(secret) >= shortest && secret != "Bearer" {
					clean = hide(clean, secret)
				}
			}
		}
	}
	for at := 0; at+repeated <= len(clean); at++ {
		if asked(ask, clean[at:at+repeated]) {
			return errors.New(clean[:at] + "… (the rest repeats the prompt)")
		}
	}
	if clean == text {
		return err
	}
	return errors.New(clean)
}

// asked reports whether a text is a part of what was asked.
func asked(a wire.Ask, text string) bool {
	return strings.Contains(a.Prompt, text) ||
		slices.ContainsFunc(a.Turns, func(t wire.Turn) bool { return strings.Contains(t.Text, text) })
}
