package status

import (
	"fmt"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// A plot is the drawings of a card.
type plot struct {
	Bars                 []bar
	Top, Middle          string // labels of the bars' axis
	Summary              string
	Key                  []string // what the letters mean
	Strip                strip
	StripMiddle, StripTo string
	StripWords           string
}

// plot draws the last results; top and right are the values at the ends of the
// axes of bars and strip. It is nil without a result.
func (s *snapshot) plot(top, right float64) *plot {
	last, ok := s.last()
	if !ok {
		return nil
	}
	return &plot{
		Bars: bars(s.ring, top), Top: round(top), Middle: round(top / 2),
		Summary: s.barSummary(top), Key: s.barKey(),
		Strip: tokenStrip(&last.account, right), StripMiddle: round(right / 2), StripTo: round(right),
		StripWords: frames(&last.account),
	}
}

func (s *snapshot) barSummary(top float64) string {
	shown, ok := lastBars(s.ring), 0
	for _, e := range shown {
		if e.ok() {
			ok++
		}
	}
	return fmt.Sprintf("the last %d probes of %s, newest at the right: %d ok, %d failed; the axis ends at %s",
		len(shown), s.target.Name, ok, len(shown)-ok, round(top))
}

// barKey says what the letters under the bars mean and how many there are.
func (s *snapshot) barKey() []string {
	n := map[probe.Outcome]int{}
	for _, e := range lastBars(s.ring) {
		n[e.account.Outcome]++
	}
	var key []string
	for _, o := range probe.Outcomes() {
		if o != probe.OK && n[o] > 0 {
			key = append(key, fmt.Sprintf("%s %s (%d)", letters[o], o, n[o]))
		}
	}
	return key
}

// frames tells the tokens of a result.
func frames(a *probe.Account) string {
	if a.Frames == 0 {
		return "no token"
	}
	words := []string{format.Count(a.Frames, "token frame")}
	if a.Usage.Output != nil {
		words[0] = format.Count(*a.Usage.Output, "token") + " in " + format.Count(a.Frames, "frame")
	}
	if a.Coalesced > 0 {
		words = append(words, format.Grouped(a.Coalesced)+" coalesced")
	}
	if a.JoinedTokens > 0 {
		words = append(words, format.Grouped(a.JoinedTokens)+" read late by the prober, several at once")
	}
	if a.MaxGap != nil {
		words = append(words, "longest gap "+precise(*a.MaxGap))
	}
	if a.FinishReason != nil {
		words = append(words, "finish reason "+*a.FinishReason)
	}
	return strings.Join(words, ", ")
}
