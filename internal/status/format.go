package status

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// unit stands between a number and its unit, and keeps them on one line.
const unit = "\u00a0"

// precise spells seconds with three significant digits: "850 µs", "12.3 ms",
// "1.63 s".
func precise(seconds float64) string {
	return scaled(seconds, fixed)
}

// round spells seconds without final zeros: "2 s", "1.5 s", "250 ms".
func round(seconds float64) string {
	return scaled(seconds, func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) })
}

// scaled picks the unit, so that the number is below 1000 wherever it can be.
func scaled(seconds float64, spell func(float64) string) string {
	switch {
	case seconds == 0:
		return "0" + unit + "s"
	case seconds < 999.5e-6:
		return spell(seconds*1e6) + unit + "µs"
	case seconds < 999.5e-3:
		return spell(seconds*1e3) + unit + "ms"
	case seconds < 999.5:
		return spell(seconds) + unit + "s"
	}
	return strconv.FormatFloat(seconds, 'f', 0, 64) + unit + "s"
}

// fixed is a number below 1000 with three digits.
func fixed(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// optional is v spelled, or a dash.
func optional(v *float64) string {
	if v == nil {
		return "–"
	}
	return precise(*v)
}

// span spells a length of waiting: "3.2 s", "42 s", "12 min", "5 h 12 min".
func span(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + unit + "s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + unit + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + unit + "min"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d.Hours())) + unit + "h " + strconv.Itoa(int(d.Minutes())%60) + unit + "min"
	}
	return strconv.Itoa(int(d.Hours())/24) + unit + "d " + strconv.Itoa(int(d.Hours())%24) + unit + "h"
}

// grouped spells a whole number with a comma every three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 && s[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// large spells a big number with three digits: "182 M".
func large(n int) string {
	switch {
	case n >= 1e9:
		return strconv.FormatFloat(float64(n)/1e9, 'g', 3, 64) + unit + "G"
	case n >= 1e6:
		return strconv.FormatFloat(float64(n)/1e6, 'g', 3, 64) + unit + "M"
	}
	return grouped(n)
}

// percent spells a share. It rounds down, so that 100 % means all.
func percent(share float64) string {
	hundredths := math.Floor(share*1e4 + 1e-6)
	return strconv.FormatFloat(hundredths/100, 'f', -1, 64) + unit + "%"
}

// goal spells a promised share as it was given: "99.95 %".
func goal(share float64) string {
	return strconv.FormatFloat(share*100, 'g', 6, 64) + unit + "%"
}

// nice is the next number of an axis at or above v: 1, 1.2, 1.5, 2, … times a
// power of ten. It is 1 if there is nothing to show.
func nice(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if v <= step*power {
			return step * power
		}
	}
	return 10 * power
}
