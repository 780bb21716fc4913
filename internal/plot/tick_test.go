package plot

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		about     string
		axis      Axis
		low, high float64
		binary    bool
		want      string
	}{
		{"two stacks close together", Axis{Unit: Second}, 0.79, 0.828, false, "790 ms, 800 ms, 810 ms, 820 ms"},
		{"gaps between tokens", Axis{Unit: Second}, 0.0003, 0.043, false, "0, 10 ms, 20 ms, 30 ms, 40 ms"},
		{"parts of a second", Axis{Unit: Second}, 0, 1.2, false, "0, 0.25 s, 0.50 s, 0.75 s, 1.00 s"},
		{"ten rounds", Axis{Unit: Second}, 0, 90, false, "0, 30 s, 60 s, 90 s"},
		{"ten minutes", Axis{Unit: Second}, 0, 600, false, "0, 2 min, 4 min, 6 min, 8 min, 10 min"},
		{"a night", Axis{Unit: Second}, 0, 8 * 3600, false, "0, 2 h, 4 h, 6 h, 8 h"},
		{"from a microsecond", Axis{Unit: Second}, 1e-6, 5e-6, false, "0, 1 µs, 2 µs, 3 µs, 4 µs, 5 µs"},
		{"shares", Axis{Unit: Percent}, 0.1, 1, false, "0%, 20%, 40%, 60%, 80%, 100%"},
		{"small numbers", Axis{Unit: Number}, 0, 1500, false, "0, 500, 1,000, 1,500"},
		{"thousands", Axis{Unit: Number}, 0, 5000, false, "0, 1k, 2k, 3k, 4k, 5k"},
		{"tens of thousands", Axis{}, 0, 40000, false, "0, 10k, 20k, 30k, 40k"},
		{"millions", Axis{Unit: Number}, 0, 3e6, false, "0, 1M, 2M, 3M"},
		{"below zero", Axis{Unit: Number}, -2000, 2000, false, "−2k, −1k, 0, 1k, 2k"},
		{"one value", Axis{Unit: Number}, 21000, 21000, false, "19k, 20k, 21k, 22k, 23k"},
		{"0.3 ms to 100 s", Axis{Unit: Second, Log: true}, 0.0003, 100, false, "1 ms, 10 ms, 100 ms, 1 s, 10 s, 100 s"},
		{"1 ms to 200 ms", Axis{Unit: Second, Log: true}, 0.001, 0.2, false, "1 ms, 2 ms, 5 ms, 10 ms, 20 ms, 50 ms, 100 ms, 200 ms"},
		{"less than a decade", Axis{Unit: Second, Log: true}, 0.01, 0.04, false, "10 ms, 20 ms, 30 ms, 40 ms"},
		{"much less than a decade", Axis{Unit: Second, Log: true}, 0.79, 0.83, false, "600 ms, 700 ms, 800 ms, 900 ms, 1 s"},
		{"the whole ladder", Axis{Log: true}, 1, 4096, true, "1, 4, 16, 64, 256, 1,024, 4,096"},
		{"the whole ladder without its powers", Axis{Log: true}, 1, 4097, false, "1, 3, 10, 30, 100, 300, 1k, 3k"},
		{"a short ladder", Axis{Log: true}, 1, 64, true, "1, 2, 4, 8, 16, 32, 64"},
		{"one step of a ladder", Axis{Log: true}, 2048, 2048, true, "1,024, 2,048, 4,096"},
		{"two steps of a ladder", Axis{Log: true}, 1, 2, true, "1.0, 1.2, 1.4, 1.6, 1.8, 2.0"},
	} {
		var texts []string
		for _, tick := range c.axis.ticks(c.axis.scale(c.low, c.high), c.binary) {
			texts = append(texts, tick.text)
		}
		if diff := cmp.Diff(c.want, strings.Join(texts, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.about, diff)
		}
	}
}

func TestTicksOfAnyScale(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 50_000 {
		a := Axis{Unit: []Unit{Number, Second, Percent, ""}[r.IntN(4)], Log: r.IntN(2) == 0}
		low := math.Pow(10, r.Float64()*60-30)
		high := min(low*math.Pow(10, math.Pow(r.Float64(), 4)*60), farthest)
		if !a.Log && r.IntN(3) == 0 {
			low, high = -low, high*2
		}
		if r.IntN(10) == 0 {
			high = low * (1 + r.Float64()*1e-7)
		}
		checkTicks(t, a, min(low, high), max(low, high), r.IntN(2) == 0)
	}
}

func checkTicks(t *testing.T, a Axis, low, high float64, binary bool) {
	t.Helper()
	s := a.scale(low, high)
	ticks := a.ticks(s, binary)
	if len(ticks) < 3 || len(ticks) > 9 {
		t.Fatalf("%+v from %v to %v has %d ticks: %v", a, low, high, len(ticks), ticks)
	}
	seen := map[string]bool{}
	for i, tick := range ticks {
		if tick.value < s.low || tick.value > s.high {
			t.Fatalf("%+v from %v to %v: %v is outside of %v", a, low, high, tick, s)
		}
		if i > 0 && tick.value <= ticks[i-1].value {
			t.Fatalf("%+v from %v to %v does not increase: %v", a, low, high, ticks)
		}
		if seen[tick.text] || tick.text == "" || len(tick.text) > 24 {
			t.Fatalf("%+v from %v to %v: %q is again, empty or long in %v", a, low, high, tick.text, ticks)
		}
		seen[tick.text] = true
	}
}

func FuzzTicks(f *testing.F) {
	f.Add(0.0003, 100.0, true, uint8(1))
	f.Add(0.796, 0.823, false, uint8(1))
	f.Add(1.0, 4096.0, true, uint8(0))
	f.Add(-1e30, 1e30, false, uint8(2))
	f.Fuzz(func(t *testing.T, low, high float64, log bool, unit uint8) {
		a := Axis{Unit: []Unit{Number, Second, Percent}[unit%3], Log: log}
		if a.placed(low) && a.placed(high) {
			checkTicks(t, a, min(low, high), max(low, high), unit >= 128)
		}
	})
}
