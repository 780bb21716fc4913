package format

import (
	"io"
	"os"

	"golang.org/x/term"
)

// The bounds of the width of a table, in columns. Within them it is as wide as its terminal. In a file it has the lower
// one.
const (
	minTableWidth = 80
	maxTableWidth = 120
)

// TableWidth returns the width of tables on w, in columns.
func TableWidth(w io.Writer) int {
	return min(max(TerminalWidth(w), minTableWidth), maxTableWidth)
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	return TerminalWidth(w) > 0
}

// TerminalWidth returns the width of the terminal w, in columns. It is 80 if the terminal does not report it, and 0 if
// w is not a terminal.
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
