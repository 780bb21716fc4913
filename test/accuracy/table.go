package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const mega = 1e6 // bytes of a MB

// itlTable returns a table of what the prober said of ITL in Markdown, with a line for each measurement.
func itlTable(all []*measured) string {
	var b strings.Builder
	b.WriteString("| streams | client | with ITL | tokens joined | mean ITL off by | median | P95 | P99 | with TTFT | " +
		"with max gap, off by at most | truth P50, P99 | others took |\n" +
		"|" + strings.Repeat("---|", 12) + "\n")
	for _, m := range all {
		if m.client == bareReader {
			continue
		}
		off := func(said, truth time.Duration) string {
			if m.itl.n == 0 {
				return "–"
			}
			return fmt.Sprintf("%+.2f%%", 100*(float64(said)/float64(truth)-1))
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s | %s | %s | %s, %s | %s, %s | %s |\n",
			m.streams, m.client, percent(share(m.withITL, m.streams)), percent(share(m.joinedTokens, m.frames)),
			off(m.itl.mean, m.truth.mean), off(m.itl.p50, m.truth.p50),
			off(m.itl.p95, m.truth.p95), off(m.itl.p99, m.truth.p99),
			percent(share(m.withTTFT, m.streams)), percent(share(m.withMax, m.streams)), short(m.maxOff),
			short(m.truth.p50), short(m.truth.p99), percent(m.noise()))
	}
	return b.String()
}

// table returns the table of arrivals in Markdown, with a line for all runs of one client with one number of streams.
func table(all []*measured) string {
	var b strings.Builder
	b.WriteString("| streams | client | gap error P50 | P99 (lowest to highest) | max | P99 of the bare reader's | " +
		"P99 between brief Writes, share of other gaps | TTFT error P50, P99, max | CPU per 1,000 frames | " +
		"of the bare reader's | peak memory | read together | tainted | kernel timestamps | server late P50, P99 | " +
		"its CPU |\n" +
		"|" + strings.Repeat("---|", 16) + "\n")
	of := func(streams int, client string) (runs []*measured) {
		for _, m := range all {
			if m.streams == streams && m.client == client {
				runs = append(runs, m)
			}
		}
		return runs
	}
	for _, m := range all {
		if runs := of(m.streams, m.client); runs[0] == m {
			b.WriteString(row(runs, of(m.streams, bareReader)))
		}
	}
	return b.String()
}

// row returns a line with the medians of the runs of one client, and of the ratios to the bare reader of the same run.
func row(runs, bares []*measured) string {
	of := func(f func(m, bare *measured) float64) float64 {
		list := make([]float64, 0, len(runs))
		for i, m := range runs {
			list = append(list, f(m, bares[i]))
		}
		return median(list)
	}
	took := func(f func(m *measured) time.Duration) string {
		return short(time.Duration(of(func(m, _ *measured) float64 { return float64(f(m)) })))
	}
	part := func(f func(m *measured) float64) string {
		return percent(of(func(m, _ *measured) float64 { return f(m) }))
	}
	var p99, peaks []float64
	for _, m := range runs {
		p99, peaks = append(p99, float64(m.gaps.p99)), append(peaks, m.peak)
	}
	m := runs[0]
	return fmt.Sprintf("| %d | %s | %s | %s (%s to %s) | %s | %.2g | %s, %s | %s, %s, %s | %s | %.2f | %.0f MB | "+
		"%s | %s | %s | %s, %s | %s |\n",
		m.streams, m.client,
		took(func(m *measured) time.Duration { return m.gaps.p50 }),
		took(func(m *measured) time.Duration { return m.gaps.p99 }),
		short(time.Duration(slices.Min(p99))), short(time.Duration(slices.Max(p99))),
		took(func(m *measured) time.Duration { return m.gaps.max }),
		of(func(m, bare *measured) float64 { return float64(m.gaps.p99) / float64(bare.gaps.p99) }),
		took(func(m *measured) time.Duration { return m.between.p99 }),
		part(func(m *measured) float64 { return 1 - share(m.between.n, m.gaps.n) }),
		took(func(m *measured) time.Duration { return m.ttft.p50 }),
		took(func(m *measured) time.Duration { return m.ttft.p99 }),
		took(func(m *measured) time.Duration { return m.ttft.max }),
		took((*measured).perThousand),
		of(func(m, bare *measured) float64 { return float64(m.perThousand()) / float64(bare.perThousand()) }),
		slices.Max(peaks)/mega,
		part(func(m *measured) float64 { return share(m.together, m.frames) }),
		part(func(m *measured) float64 { return share(m.tainted, m.streams) }),
		part(func(m *measured) float64 { return share(m.kernel, m.frames) }),
		took(func(m *measured) time.Duration { return m.late.p50 }),
		took(func(m *measured) time.Duration { return m.late.p99 }),
		took(func(m *measured) time.Duration { return m.server * 1000 / time.Duration(m.frames) }))
}

// short returns the text of a duration, in the unit that suits it, with three digits.
func short(d time.Duration) string {
	size := d.Abs()
	switch {
	case size < time.Millisecond:
		return fmt.Sprintf("%.3g µs", float64(d)/float64(time.Microsecond))
	case size < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3g s", d.Seconds())
}

// share returns n as a share of that many; 0 of none.
func share(n, of int) float64 { return float64(n) / float64(max(1, of)) }

func percent(share float64) string {
	if share == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g%%", 100*share)
}
