package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is how wide w is, in columns, and whether it takes colours: 80 and
// no where it is no terminal. See https://no-color.org.
func terminal(w io.Writer) (width int, color bool) {
	if !isTerminal(w) {
		return 80, false
	}
	width = columns(w)
	if width < 40 {
		width = 80
	}
	return min(width, 120), os.Getenv("NO_COLOR") == ""
}

// columns is how wide w is; 80 where nobody knows.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 80
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 2 {
		return 80
	}
	return width
}
