package plot

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// A measure is a multiple of a base unit: how long it is, and its name after a number.
type measure struct {
	size float64
	name string
}

// labels write the ticks of an axis: in one measure where they are a step apart, each
// in its own (step 0) where they are not. No two are the same.
func labels(u Unit, values []float64, step float64) []string {
	texts := make([]string, len(values))
	top := largest(values)
	for i, v := range values {
		if step == 0 {
			texts[i] = roundValue(u, v)
		} else {
			m := measureOf(u, top, step)
			texts[i] = scaled(v, m, decimals(step/m.size))
		}
	}
	if !telling(texts, values) {
		return plainly(u, values)
	}
	return texts
}

// telling reports whether texts are short, no two the same, and zero only of zero.
func telling(texts []string, values []float64) bool {
	for i, s := range texts {
		if len(s) > 14 || values[i] != 0 && strings.Trim(s, "0%") == "" {
			return false
		}
	}
	sorted := slices.Sorted(slices.Values(texts))
	return len(slices.Compact(sorted)) == len(texts)
}

// plainly writes values as they are, for what the measures are too coarse for.
func plainly(u Unit, values []float64) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		name := map[Unit]string{Second: " s"}[u]
		if u == Percent {
			v, name = v*100, "%"
		}
		for digits := 3; digits <= 17; digits += 2 {
			texts[i] = strconv.FormatFloat(v, 'g', digits, 64) + name
			if back, _ := strconv.ParseFloat(strings.TrimSuffix(texts[i], name), 64); math.Abs(back-v) <= 1e-12*math.Abs(v) {
				break
			}
		}
	}
	return texts
}

func largest(values []float64) float64 {
	top := 0.0
	for _, v := range values {
		top = max(top, math.Abs(v))
	}
	return top
}

// measureOf is the measure of an axis whose largest tick is top, and whose ticks are
// a step apart.
func measureOf(u Unit, top, step float64) measure {
	switch u {
	case Percent:
		return measure{0.01, "%"}
	case Second:
		return secondsOf(top, step)
	}
	switch {
	case top >= 0.99e9 && step >= 0.99e8:
		return measure{1e9, "G"}
	case top >= 0.99e6 && step >= 0.99e5:
		return measure{1e6, "M"}
	case step >= 999, top >= 9.99e3 && step >= 99:
		return measure{1e3, "k"}
	}
	return measure{1, ""}
}

func secondsOf(top, step float64) measure {
	switch {
	case top >= 7199 && step >= 1799:
		return measure{3600, " h"}
	case top >= 119 && step >= 29:
		return measure{60, " min"}
	case top >= 0.999:
		return measure{1, " s"}
	case top >= 0.999e-3:
		return measure{1e-3, " ms"}
	}
	return measure{1e-6, " µs"}
}

// roundValue writes a tick of a logarithmic axis in a measure of its own.
func roundValue(u Unit, v float64) string {
	m := measure{1, ""}
	switch {
	case u == Percent:
		m = measure{0.01, "%"}
	case u == Second:
		m = secondsOf(v, 0)
	case v >= 0.99e9:
		m = measure{1e9, "G"}
	case v >= 0.99e6 && wholes(v, 1e6):
		m = measure{1e6, "M"}
	case v >= 0.99e3 && wholes(v, 1e3):
		m = measure{1e3, "k"}
	}
	return scaled(v, m, decimals(v/m.size))
}

func wholes(v, size float64) bool { return math.Abs(math.Mod(v, size)) < size*1e-9 }

// decimals are the digits after the point that a step needs, nine at most.
func decimals(step float64) int {
	for d := range 9 {
		if shifted := step * math.Pow10(d); math.Abs(shifted-math.Round(shifted)) < 1e-6*shifted {
			return d
		}
	}
	return 9
}

// scaled writes v in a measure. Zero needs none.
func scaled(v float64, m measure, decimals int) string {
	text := strconv.FormatFloat(v/m.size, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		if m.name == "%" {
			return "0%"
		}
		return "0"
	}
	return grouped(text) + m.name
}

// grouped sets a comma after each thousand, and a minus sign as it is set in print.
func grouped(text string) string {
	text, negative := strings.CutPrefix(text, "-")
	digits, fraction, _ := strings.Cut(text, ".")
	if n, err := strconv.Atoi(digits); err == nil {
		digits = format.Grouped(n)
	}
	if negative {
		digits = "−" + digits
	}
	if fraction != "" {
		digits += "." + fraction
	}
	return digits
}

// value writes one value with four significant digits, for who points at it.
func value(u Unit, v float64) string {
	m := measure{1, ""}
	switch u {
	case Percent:
		m = measure{0.01, "%"}
	case Second:
		m = secondsOf(math.Abs(v), 0)
		if math.Abs(v) >= 120 {
			m = measure{60, " min"}
		}
	}
	n := v / m.size
	if n != 0 && (math.Abs(n) >= 1e15 || math.Abs(n) < 1e-4) {
		return strconv.FormatFloat(n, 'g', 4, 64) + m.name
	}
	digits := 3
	if n != 0 {
		digits = max(0, 3-int(math.Floor(math.Log10(math.Abs(n)))))
	}
	text := strconv.FormatFloat(n, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return grouped(text) + m.name
}
