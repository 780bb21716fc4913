package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// figures are what a measurement says of tokens, in shares, and in relative errors by the truth.
type figures struct {
	with, joined, ttft, max  float64
	mean, median, p95, p99   float64
	truthMedian, truthLatest time.Duration // p50 and p99 of the truth
}

func (j *joined) figures() figures {
	share := func(n, of int) float64 { return float64(n) / float64(max(1, of)) }
	seen, truth := spreadOf(j.itl), spreadOf(j.truth)
	off := func(seen, truth time.Duration) float64 {
		if len(j.itl) == 0 || len(j.truth) == 0 {
			return math.NaN()
		}
		return float64(seen)/float64(truth) - 1
	}
	streams := len(j.ttft)
	return figures{
		with: share(j.withITL, streams), joined: share(j.joinedTokens, j.frames), ttft: share(j.withTTFT, streams), max: share(j.withMax, streams),
		mean: off(seen.mean, truth.mean), median: off(seen.p50, truth.p50), p95: off(seen.p95, truth.p95), p99: off(seen.p99, truth.p99),
		truthMedian: truth.p50, truthLatest: truth.p99,
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
		f := m.tokens
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s | %s | %s | %s, %s | %s, %s | %s |\n",
			m.streams, m.client, percent(f.with), percent(f.joined), offset(f.mean), offset(f.median), offset(f.p95), offset(f.p99),
			percent(f.ttft), percent(f.max), short(m.maxOff), short(f.truthMedian), short(f.truthLatest), percent(m.noise()))
	}
	return b.String()
}

// offset is a relative error.
func offset(share float64) string { return fmt.Sprintf("%+.2f%%", 100*share) }
