package format

import (
	"fmt"
	"unicode/utf8"
)

// PadColumns returns the cells of a table, filled up with spaces so that those of a column are equally wide. isRight
// says for each column whether its texts stand at the right. All rows have as many cells as isRight, and stay as they
// are.
func PadColumns(rows [][]string, isRight []bool) [][]string {
	widths := make([]int, len(isRight))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	padded := make([][]string, 0, len(rows))
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for i, cell := range row {
			width := widths[i]
			if !isRight[i] {
				width = -width // fmt fills up a negative width on the right
			}
			cells = append(cells, fmt.Sprintf("%*s", width, cell))
		}
		padded = append(padded, cells)
	}
	return padded
}
