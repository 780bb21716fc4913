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
	width, _, err := term.GetSize(int(w.(*os.File).Fd()))
	if err != nil || width < 40 {
		width = 80
	}
	return min(width, 120), os.Getenv("NO_COLOR") == ""
}
