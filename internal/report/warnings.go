package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/llm-prober/prober/internal/format"
)

// warningsOf says what is doubtful about the numbers of successful samples, each
// thing once. Canceled ones are only counted.
func warningsOf(good []Sample, canceled int) []string {
	var list []string
	if canceled > 0 {
		list = append(list, format.Count(canceled, "request")+" cut off at the end: counted nowhere")
	}
	for _, text := range []string{
		cached(good), veiled(good), belated(good), joined(good), untold(good), unattributed(good), batches(burstsOf(good)), lengths(good), fewForTails(good),
	} {
		if text != "" {
			list = append(list, text)
		}
	}
	return append(list, common(good)...)
}

// number counts the samples that are.
func number(samples []Sample, is func(Sample) bool) int {
	are, _ := split(samples, is)
	return len(are)
}

// of is "3 of 10 requests".
func of(n, total int, noun string) string {
	return format.Grouped(n) + " of " + format.Count(total, noun)
}

func contaminated(s Sample) bool { return s.Contaminated }

func cached(good []Sample) string {
	n := number(good, contaminated)
	if n == 0 {
		return ""
	}
	return of(n, len(good), "prompt") + " were found in a cache: no TTFT of them"
}

// veiled counts answers whose first tokens nobody saw.
func veiled(good []Sample) string {
	n := number(good, func(s Sample) bool { return s.Hidden })
	if n == 0 {
		return ""
	}
	return of(n, len(good), "request") + " had reasoning that no frame showed: no TTFT of them"
}

func tainted(s Sample) bool { return s.Tainted }

// belated counts answers that were read too late for ITL.
func belated(good []Sample) string {
	n := number(good, tainted)
	if n == 0 {
		return ""
	}
	return of(n, len(good), "request") + " were read late, by this prober and not from a late server: no ITL of them"
}

// joined counts tokens that were read together because the prober was late.
func joined(good []Sample) string {
	n, total := 0, 0
	for _, s := range good {
		n += s.Joined
		total += max(s.Output.N, s.Joined)
	}
	if n == 0 {
		return ""
	}
	return of(n, total, "token") + " were read late and together: their ITL is a mean, so that tails of ITL are shorter than they were"
}

func untold(good []Sample) string {
	n := number(good, func(s Sample) bool { return !s.Output.Known })
	if n == 0 {
		return ""
	}
	return of(n, len(good), "request") + " did not tell how many tokens they generated: no TPOT and ITL of them, and token counts are of the others"
}

// unattributed counts answers of several frames that do not say their tokens.
func unattributed(good []Sample) string {
	n := number(good, func(s Sample) bool {
		return s.Output.Known && s.Frames > s.Bursts+1 && len(s.ITL) == 0 && s.Joined == 0
	})
	if n == 0 {
		return ""
	}
	return of(n, len(good), "request") + " did not tell how many tokens a frame carries: no ITL of them, and chunk gaps are the server's rhythm, not the engine's"
}

// batches says that token frames come in bursts.
func batches(b bursts) string {
	switch {
	case b.batched():
		return of(b.together, b.frames, "token frame") + " arrived together with the one before: the server or a proxy sends them in bursts, so chunk gaps are its timer's and ITL is the mean over each burst"
	case b.packed():
		return fmt.Sprintf("a token frame carries %s tokens in the mean: ITL is a mean within frames, and chunk gaps are the server's rhythm, not the engine's",
			format.Digits(b.perFrame))
	}
	return ""
}

// bursts are the signs that something between the engine and us gathers tokens.
type bursts struct {
	frames, together int     // token frames; those that arrived in a burst with the one before
	perFrame         float64 // mean tokens of a frame where that is known, or 0
}

// burstsOf finds them in successful samples.
func burstsOf(good []Sample) bursts {
	var b bursts
	var frames, tokens int
	for _, s := range good {
		b.frames += s.Frames
		b.together += s.Bursts
		if s.Output.Known && len(s.ITL) > 0 {
			frames += s.Frames
			tokens += s.Output.N
		}
	}
	if frames > 0 {
		b.perFrame = float64(tokens) / float64(frames)
	}
	return b
}

// batched reports whether at least half of all frames came with another.
func (b bursts) batched() bool { return b.together > 0 && 2*b.together >= b.frames }

// packed reports whether frames carry several tokens.
func (b bursts) packed() bool { return b.perFrame >= 2 }

// lengths says that answers differ in length.
func lengths(good []Sample) string {
	least, most := math.MaxInt, 0
	for _, s := range good {
		if s.Output.Known {
			least, most = min(least, s.Output.N), max(most, s.Output.N)
		}
	}
	if least >= most {
		return ""
	}
	return fmt.Sprintf("answers are %s to %s long: E2EL differs with them", format.Grouped(least), format.Count(most, "token"))
}

// fewForTails names the quantiles that fewer than ten requests lie beyond.
func fewForTails(good []Sample) string {
	n := len(good)
	if n == 0 {
		return ""
	}
	if n == 1 {
		return "a single request has no distribution: all its quantiles are the same"
	}
	var few []string
	for _, share := range Shares() {
		if beyond := float64(n) * (1 - share); share > 0.5 && beyond < 10-1e-9 {
			few = append(few, percentile(share))
		}
	}
	if few == nil {
		return ""
	}
	text := fmt.Sprintf("of %s fewer than ten lie beyond %s", format.Count(n, "request"), format.List(few))
	if last := Shares()[len(Shares())-1]; float64(n)*(1-last) < 1 {
		text += ", and " + percentile(last) + " is little but the longest"
	}
	return text
}

// percentile is the name of a quantile: "P99".
func percentile(share float64) string { return fmt.Sprintf("P%g", math.Round(share*1e4)/1e2) }

// told are parts of a single request's doubts that are summed up above.
func told() []string {
	return []string{
		"the server did not say how many tokens it generated",
		"no frame says how many it carries",
		"token frames arrived together with the one before",
		"tokens of it in its cache",
		"reasoning that no frame showed",
		"the prober read up to",
	}
}

// common sums up the doubts of single requests. Those that differ only in their
// numbers are one.
func common(good []Sample) []string {
	type doubt struct {
		first string
		alike bool
		n     int
	}
	var kinds []string
	found := map[string]*doubt{}
	for _, s := range good {
		for _, text := range s.Doubts {
			if slices.ContainsFunc(told(), func(part string) bool { return strings.Contains(text, part) }) {
				continue
			}
			kind := strings.Map(dropDigit, text)
			if found[kind] == nil {
				kinds = append(kinds, kind)
				found[kind] = &doubt{first: text, alike: true}
			}
			found[kind].n++
			found[kind].alike = found[kind].alike && text == found[kind].first
		}
	}
	var list []string
	for _, kind := range kinds {
		d := found[kind]
		such := ": "
		if !d.alike {
			such = ", such as: "
		}
		list = append(list, of(d.n, len(good), "request")+such+d.first)
	}
	return list
}

func dropDigit(r rune) rune {
	if unicode.IsDigit(r) || r == '+' || r == '-' {
		return -1
	}
	return r
}
