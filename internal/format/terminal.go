package format

import (
	"io"
	"os"

	"golang.org/x/term"
)

// A table is as wide as its terminal, but within these bounds, in columns. In a file it has the lower one.
const (
	minTableWidth = 80
	maxTableWidth = 120
)

// TableWidth returns how wide tables on w are, in columns.
func TableWidth(w io.Writer) int {
	return min(max(TerminalWidth(w), minTableWidth), maxTableWidth)
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	return TerminalWidth(w) > 0
}

// TerminalWidth returns how wide the terminal w is, in columns. It is 80 if that is not known, and 0 if w is no
// terminal.
func TerminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 2 {
		return minTableWidth
	}
	return width
}
