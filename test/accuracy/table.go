package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const mega = 1e6 // bytes of a MB

// A row is all runs of one client with one number of streams: the medians of the
// runs, and of the ratios to the bare reader of the same run.
type row struct {
	client  string
	streams int

	gap, brief, first, lateness spread
	low, high                   time.Duration // of the p99 of the gap error
	perThousand                 time.Duration
	server                      time.Duration // for 1,000 frames
	peak                        float64       // the highest, bytes

	gapOfBare, cpuOfBare      float64
	together, tainted, kernel float64 // shares of frames, of streams, of frames
	interrupted               float64 // share of gaps
}

// summarize makes a row of all that has a client and a number of streams in common,
// in the order in which they were first measured.
func summarize(all []*measured) []row {
	type key struct {
		streams int
		client  string
	}
	var order []key
	groups := map[key][]*measured{}
	for _, m := range all {
		k := key{m.streams, m.client}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], m)
	}
	rows := make([]row, 0, len(order))
	for _, k := range order {
		rows = append(rows, rowOf(groups[k], groups[key{k.streams, bareReader}]))
	}
	return rows
}

// rowOf summarizes runs of one client; those of the bare reader are in the same
// order.
func rowOf(runs, bares []*measured) row {
	of := func(f func(m, bare *measured) float64) float64 {
		list := make([]float64, 0, len(runs))
		for i, m := range runs {
			list = append(list, f(m, bares[i]))
		}
		return median(list)
	}
	each := func(f func(m *measured) time.Duration) time.Duration {
		return time.Duration(of(func(m, _ *measured) float64 { return float64(f(m)) }))
	}
	three := func(f func(m *measured) spread) spread {
		return spread{
			p50: each(func(m *measured) time.Duration { return f(m).p50 }),
			p99: each(func(m *measured) time.Duration { return f(m).p99 }),
			max: each(func(m *measured) time.Duration { return f(m).max }),
		}
	}
	worst := func(a, b *measured) int { return int(a.gap.p99 - b.gap.p99) }
	return row{
		client: runs[0].client, streams: runs[0].streams,
		gap:      three(func(m *measured) spread { return m.gap }),
		brief:    three(func(m *measured) spread { return m.brief }),
		first:    three(func(m *measured) spread { return m.first }),
		lateness: three(func(m *measured) spread { return m.lateness }),
		low:      slices.MinFunc(runs, worst).gap.p99, high: slices.MaxFunc(runs, worst).gap.p99,
		perThousand: each((*measured).perThousand),
		server:      each(func(m *measured) time.Duration { return m.server * 1000 / time.Duration(m.frames) }),
		peak:        slices.MaxFunc(runs, func(a, b *measured) int { return int(a.peak - b.peak) }).peak,
		gapOfBare:   of(func(m, bare *measured) float64 { return float64(m.gap.p99) / float64(bare.gap.p99) }),
		cpuOfBare:   of(func(m, bare *measured) float64 { return float64(m.perThousand()) / float64(bare.perThousand()) }),
		interrupted: of(func(m, _ *measured) float64 { return m.interrupted }),
		together:    of(func(m, _ *measured) float64 { return float64(m.together) / float64(m.frames) }),
		tainted:     of(func(m, _ *measured) float64 { return float64(m.tainted) / float64(m.streams) }),
		kernel:      of(func(m, _ *measured) float64 { return float64(m.kernel) / float64(m.frames) }),
	}
}

// table is the rows in Markdown.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| streams | client | gap error P50 | P99 (lowest to highest) | max | P99 of the bare reader's | P99 between brief Writes, share of other gaps | TTFT error P50, P99, max | " +
		"CPU per 1,000 frames | of the bare reader's | peak memory | read together | tainted | kernel timestamps | server late P50, P99 | its CPU |\n" +
		"|" + strings.Repeat("---|", 16) + "\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %d | %s | %s | %s (%s to %s) | %s | %.2g | %s, %s | %s, %s, %s | %s | %.2f | %.0f MB | %s | %s | %s | %s, %s | %s |\n",
			r.streams, r.client, short(r.gap.p50), short(r.gap.p99), short(r.low), short(r.high), short(r.gap.max), r.gapOfBare, short(r.brief.p99), percent(r.interrupted),
			short(r.first.p50), short(r.first.p99), short(r.first.max), short(r.perThousand), r.cpuOfBare, r.peak/mega,
			percent(r.together), percent(r.tainted), percent(r.kernel), short(r.lateness.p50), short(r.lateness.p99), short(r.server))
	}
	return b.String()
}

// short is a duration in the unit that suits it, with three digits.
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

func percent(share float64) string {
	if share == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g%%", 100*share)
}
