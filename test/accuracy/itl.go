package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// A tokens is what the streams of a measurement said of ITL, and what is true of it: the times
// between the Writes of their token frames.
type tokens struct {
	seen, truth []time.Duration
	streams     int
	with        int // streams with ITL
	joined      int // tokens whose ITL is a mean
	ttft, max   int // streams with a TTFT and with a max gap
	maxOff      time.Duration
}

func (k *tokens) add(s seen, sent []written) {
	k.streams++
	k.seen = append(k.seen, s.ITL...)
	k.joined += s.Joined
	if len(s.ITL) > 0 {
		k.with++
	}
	if s.TTFT {
		k.ttft++
	}
	longest := time.Duration(0)
	for i := 1; i < len(sent); i++ {
		gap := time.Duration(sent[i].Before - sent[i-1].Before)
		k.truth = append(k.truth, gap)
		longest = max(longest, gap)
	}
	if s.MaxGap >= 0 {
		k.max++
		k.maxOff = max(k.maxOff, (s.MaxGap - longest).Abs())
	}
}

// figures are the tokens of a measurement in shares, and in relative errors by the truth.
type figures struct {
	with, joined, ttft, max  float64
	mean, median, p95, p99   float64
	maxOff                   time.Duration
	truthMedian, truthLatest time.Duration // p50 and p99 of the truth
}

func (k *tokens) figures() figures {
	share := func(n, of int) float64 { return float64(n) / float64(max(1, of)) }
	seen, truth := spreadOf(k.seen), spreadOf(k.truth)
	off := func(seen, truth time.Duration) float64 {
		if len(k.seen) == 0 || len(k.truth) == 0 {
			return math.NaN()
		}
		return float64(seen)/float64(truth) - 1
	}
	return figures{
		with: share(k.with, k.streams), joined: share(k.joined, len(k.truth)+k.streams), ttft: share(k.ttft, k.streams), max: share(k.max, k.streams),
		mean: off(seen.mean, truth.mean), median: off(seen.p50, truth.p50), p95: off(seen.p95, truth.p95), p99: off(seen.p99, truth.p99),
		maxOff: k.maxOff, truthMedian: truth.p50, truthLatest: truth.p99,
	}
}

// itlTable is what the prober said of ITL, a line for each measurement, in Markdown.
func itlTable(all []*measured) string {
	var b strings.Builder
	b.WriteString("| streams | client | with ITL | tokens joined | mean ITL off by | median | P95 | P99 | with TTFT | with max gap, off by at most | truth P50, P99 | others took |\n" +
		"|" + strings.Repeat("---|", 12) + "\n")
	for _, m := range all {
		if m.client == bareReader {
			continue
		}
		f := m.itl
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s | %s | %s | %s, %s | %s, %s | %s |\n",
			m.streams, m.client, percent(f.with), percent(f.joined), offset(f.mean), offset(f.median), offset(f.p95), offset(f.p99),
			percent(f.ttft), percent(f.max), short(f.maxOff), short(f.truthMedian), short(f.truthLatest), percent(m.noise()))
	}
	return b.String()
}

// offset is a relative error.
func offset(share float64) string { return fmt.Sprintf("%+.2f%%", 100*share) }
