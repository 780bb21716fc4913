package format

import (
	"fmt"
	"math"
	"strconv"
)

// Attainment writes the share of good events as a percentage: "57%", "94.1%", "99.996%". It has one decimal up to 100
// events, two up to 1,000 and three above: more say nothing about so few. It rounds down, so that 100% means all of
// them and a share below its goal never reads like the goal. The other functions round to the nearest. total must be
// above 0.
func Attainment(good, total int) string {
	scale := 1000
	switch {
	case total <= 100:
		scale = 10
	case total <= 1000:
		scale = 100
	}
	parts := 100 * scale * good / total
	return strconv.FormatFloat(float64(parts)/float64(scale), 'f', -1, 64) + "%"
}

// Percent writes a share, rounded to the nearest: "0.04%", "3.1%", "162.0%".
func Percent(share float64) string {
	percent := 100 * share
	switch {
	case percent > 0 && percent < 0.005:
		return "under 0.01%"
	case percent > 0 && percent < 0.095:
		return fmt.Sprintf("%.2f%%", percent)
	}
	return fmt.Sprintf("%.1f%%", percent)
}

// Change writes a change relative to what was before, with its sign and three digits, rounded to the nearest: "+3.12%",
// "-12.3%", "+163%".
func Change(share float64) string {
	percent := 100 * share
	size := math.Abs(percent)
	switch {
	case size >= 99.95:
		return fmt.Sprintf("%+.0f%%", percent)
	case size >= 9.995:
		return fmt.Sprintf("%+.1f%%", percent)
	}
	return fmt.Sprintf("%+.2f%%", percent)
}

// Goal writes a ratio as a percentage, as it was set: "95%", "99.95%".
func Goal(ratio float64) string {
	return strconv.FormatFloat(100*ratio, 'g', 10, 64) + "%"
}
