// Package format writes numbers, durations and texts as people read them.
//
// It takes values of the standard library and returns texts. All that people read goes through it, so that a duration
// or a percentage reads the same in a log, in a table and on the page. format.go and percent.go have the numbers,
// text.go has lists, lines and columns, clean.go makes texts from servers and files safe to print, redact.go hides
// secrets in them, and terminal.go knows how wide a terminal is.
package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Duration writes d with three significant digits: "850 µs", "12.3 ms", "1.63 s".
func Duration(d time.Duration) string {
	switch {
	case d == 0:
		return "0 s"
	case d < 999500*time.Nanosecond:
		return Digits(float64(d)/1e3) + " µs"
	case d < 999500*time.Microsecond:
		return Digits(float64(d)/1e6) + " ms"
	}
	return Digits(d.Seconds()) + " s"
}

// Seconds writes seconds as [Duration] does.
func Seconds(seconds float64) string {
	return Duration(time.Duration(seconds * float64(time.Second)))
}

// Short writes seconds as [Duration] does, but without final zeros, for values of settings: "2 s", "1.5 s", "250 ms".
func Short(seconds float64) string {
	number, unit, _ := strings.Cut(Seconds(seconds), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + unit
}

// Elapsed writes a time that has passed, rounded down: "3.2 s", "42 s", "12 min", "5 h 12 min" or "2 d 2 h".
func Elapsed(seconds float64) string {
	minutes := int(seconds) / 60
	hours, days := minutes/60, minutes/60/24
	switch {
	case seconds < 10:
		return fmt.Sprintf("%.1f s", math.Floor(10*seconds)/10)
	case minutes < 1:
		return fmt.Sprintf("%d s", int(seconds))
	case hours < 1:
		return fmt.Sprintf("%d min", minutes)
	case days < 1:
		return fmt.Sprintf("%d h %d min", hours, minutes%60)
	}
	return fmt.Sprintf("%d d %d h", days, hours%24)
}

// Digits writes v, which is not below 0, with three significant digits. It never rounds digits before the point:
// "0.85", "12.3", "1634".
func Digits(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Grouped writes 21000 as 21,000.
func Grouped(n int) string { return humanize.Comma(int64(n)) }

// Count writes a number of things: "1 frame", "21,000 frames".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(n) + " " + noun + "s"
}
