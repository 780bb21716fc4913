package format

import (
	"io"
	"os"

	"golang.org/x/term"
)

// The width of tables, in columns: that of a terminal, but within these bounds, of which the lower is also for files.
const (
	narrowest = 80
	widest    = 120
)

// TableWidth returns how wide tables on w are, in columns.
func TableWidth(w io.Writer) int {
	return min(max(TerminalWidth(w), narrowest), widest)
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	return TerminalWidth(w) > 0
}

// TerminalWidth returns how wide the terminal w is in columns, 80 if that is not known; 0 if w is none.
func TerminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 2 {
		return narrowest
	}
	return width
}
