package report

import (
	"math"
	"slices"
	"strings"
)

// barEighths are the characters that fill so many eighths of a cell.
var barEighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// phaseBar draws a phase on an axis of so many cells that ends at limit, in seconds. The bar begins at a whole cell. It
// is at least an eighth of a cell wide, so that nothing that happened is invisible.
func phaseBar(p Phase, limit float64, cells int) string {
	scale := float64(cells) / limit
	start := min(int(p.From*scale), cells-1)
	end := int(p.To*scale*8 + 0.5) // in eighths
	width := min(max(end-start*8, 1), (cells-start)*8)
	return strings.Repeat(" ", start) + strings.Repeat("█", width/8) + barEighths[width%8]
}

// gaps draws the gaps between token frames as a sparkline, with a mark below the longest. A gap that was still open
// when the probe failed is a cross at the end.
func (w *waterfall) gaps() {
	var lengths []float64
	column := 0 // of the longest gap
	_, longest, found := LongestGap(w.result)
	for frame, length := range w.result.Gaps() {
		if frame == longest {
			column = len(lengths)
		}
		lengths = append(lengths, length)
	}
	line, valuesPerCell := sparkline(lengths, w.width-labelWidth-1)
	column /= valuesPerCell
	if found && longest == len(w.result.Arrivals) {
		column = columnsOf(line)
		line += "✗"
	}
	if line != "" {
		w.drawing("gaps", line)
	}
	if found {
		w.drawing("", strings.Repeat(" ", column)+"▲")
	}
}

// sparkLevels are the characters of a sparkline, from the lowest value to the highest.
var sparkLevels = []rune("▁▂▃▄▅▆▇█")

// sparkline draws values at proportional heights, in at most so many cells. If there are more values than cells, each
// cell shows the highest of valuesPerCell values.
func sparkline(values []float64, cells int) (line string, valuesPerCell int) {
	highest := math.SmallestNonzeroFloat64 // not 0, by which it divides
	for _, v := range values {
		highest = max(highest, v)
	}
	valuesPerCell = max(1, (len(values)+cells-1)/cells)
	for cell := range slices.Chunk(values, valuesPerCell) {
		level := int(slices.Max(cell) / highest * float64(len(sparkLevels)))
		level = min(max(0, level), len(sparkLevels)-1) // JSON may hold negative values, too
		line += string(sparkLevels[level])
	}
	return line, valuesPerCell
}
