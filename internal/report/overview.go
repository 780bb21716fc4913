package report

import (
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stats"
)

// An overviewColumn is a column of an [Overview].
type overviewColumn struct {
	head string
	cell func(Summary) string
}

// Overview returns a table with a line for each summary, for example the steps of a ladder.
func Overview(summaries []Summary) string { return overview(summaries).text() }

// overview returns the table of [Overview]. It leaves out columns that would be alike or empty in all lines.
func overview(summaries []Summary) table {
	t := table{wordColumns: 2, rows: make([][]string, len(summaries)+1)}
	var columns []overviewColumn
	if ofOneTarget(summaries) {
		t.wordColumns = 1
	} else {
		columns = append(columns, overviewColumn{"target", func(s Summary) string { return s.Target }})
	}
	columns = append(columns, overviewColumn{"load", func(s Summary) string { return s.Load }})
	isOtherLength := func(s Summary) bool { return s.PromptTokens != summaries[0].PromptTokens }
	if slices.ContainsFunc(summaries, isOtherLength) {
		prompt := func(s Summary) string { return format.Grouped(s.PromptTokens) }
		columns = append(columns, overviewColumn{"prompt", prompt})
	}
	columns = append(columns,
		overviewColumn{"ok", func(s Summary) string {
			return format.Grouped(s.Succeeded()) + "/" + format.Grouped(s.Sent())
		}},
		overviewColumn{"req/s", func(s Summary) string { return decimals(2, s.Throughput().Requests) }},
	)
	if slices.ContainsFunc(summaries, func(s Summary) bool { return s.Objectives != nil }) {
		good := func(s Summary) string { return decimals(2, s.Throughput().Good) }
		columns = append(columns, overviewColumn{"good/s", good})
	}
	columns = append(columns,
		overviewColumn{"tok/s", func(s Summary) string { return decimals(2, s.Throughput().Output) }},
		overviewColumn{"TTFT P50", func(s Summary) string { return secondsOrNone(s.TTFT.At(stats.P50)) }},
		overviewColumn{"TPOT P50", func(s Summary) string { return secondsOrNone(s.TPOT.At(stats.P50)) }},
		overviewColumn{"E2EL P50", func(s Summary) string { return secondsOrNone(s.E2EL.At(stats.P50)) }},
	)
	for _, c := range columns {
		t.rows[0] = append(t.rows[0], c.head)
		for i, s := range summaries {
			t.rows[i+1] = append(t.rows[i+1], c.cell(s))
		}
	}
	return t
}
