package report

import (
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

// eighths are blocks that fill a cell from the left.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// span draws from..to on an axis of the given cells that ends at limit. It
// begins at a whole cell and is at least a sliver wide, so that nothing that
// happened is invisible.
func span(from, to, limit time.Duration, cells int) string {
	if limit <= 0 || cells <= 0 {
		return ""
	}
	start := min(int(float64(from)/float64(limit)*float64(cells)), cells-1)
	end := int(float64(to)/float64(limit)*float64(cells)*8 + 0.5)
	width := min(max(end-start*8, 1), (cells-start)*8)
	return strings.Repeat(" ", start) + strings.Repeat("█", width/8) + eighths[width%8]
}

// axis labels both ends and the middle of an axis of the given cells.
func axis(limit time.Duration, cells int) string {
	left, middle, right := "0", format.Duration(limit/2), format.Duration(limit)
	if len(left)+length(middle)+length(right)+4 > cells {
		middle = ""
	}
	line := pad(left, cells/2-length(middle)/2) + middle
	return line + padLeft(right, cells-length(line))
}

// levels are the heights of a sparkline.
var levels = []rune("▁▂▃▄▅▆▇█")

// A sparkline is values binned to columns.
type sparkline struct {
	line    string
	per     int // values in a column; the longest of them is its height
	longest int // column of the longest value
}

// spark draws values in at most the given cells. The longest is as high as can
// be, and heights are proportional.
func spark(values []time.Duration, cells int) sparkline {
	if len(values) == 0 {
		return sparkline{}
	}
	s := sparkline{per: (len(values) + cells - 1) / cells}
	var bins []time.Duration
	for i, v := range values {
		if i%s.per == 0 {
			bins = append(bins, 0)
		}
		bins[len(bins)-1] = max(bins[len(bins)-1], v)
	}
	for i, v := range bins {
		if v > bins[s.longest] {
			s.longest = i
		}
	}
	var b strings.Builder
	for _, v := range bins {
		b.WriteRune(levels[level(v, bins[s.longest])])
	}
	s.line = b.String()
	return s
}

// level is the height of v: 0 to 7.
func level(v, top time.Duration) int {
	if top <= 0 {
		return 0
	}
	return min(int(float64(v)/float64(top)*float64(len(levels))), len(levels)-1)
}
