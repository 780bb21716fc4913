package status

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

// unit stands between a number and its unit, and keeps them on one line.
const unit = "\u00a0"

// precise writes seconds with three significant digits: "850 µs", "12.3 ms",
// "1.63 s".
func precise(seconds float64) string {
	return strings.Replace(format.Seconds(seconds), " ", unit, 1)
}

// round writes seconds without final zeros: "2 s", "1.5 s", "250 ms".
func round(seconds float64) string {
	number, name, _ := strings.Cut(format.Seconds(seconds), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + unit + name
}

// optional is v as text, or a dash.
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

// large spells a big number with three digits: "182 M".
func large(n int) string {
	switch {
	case n >= 1e9:
		return strconv.FormatFloat(float64(n)/1e9, 'g', 3, 64) + unit + "G"
	case n >= 1e6:
		return strconv.FormatFloat(float64(n)/1e6, 'g', 3, 64) + unit + "M"
	}
	return format.Grouped(n)
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
