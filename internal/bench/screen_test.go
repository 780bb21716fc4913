package bench

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestProgressFitsItsTerminal(t *testing.T) {
	p := Progress{
		Step: 2, Steps: 12, Label: "production-stack, 1024 at once",
		Done: 256, Failed: 3, Total: 1024, Elapsed: 90 * time.Second,
	}
	for width, want := range map[int]string{
		99: "step 2 of 12, production-stack, 1024 at once  256/1024  3 failed  1m30s  ETA 4m30s",
		60: "step 2 of 12, product…  256/1024  3 failed  1m30s  ETA 4m30s",
		20: "  256/1024  3 faile…",
	} {
		if got := p.Line(width); got != want {
			t.Errorf("width %d\ngot  %q\nwant %q", width, got, want)
		}
	}
	limited := Progress{Label: "0.1 QPS", Elapsed: 30 * time.Second, Limit: time.Minute}
	if got, want := limited.Line(99), "0.1 QPS  0  30s  ETA 30s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Label = strings.Repeat("ü", 100)
	for width := 1; width < 200; width++ {
		if got := utf8.RuneCountInString(p.Line(width)); got > width {
			t.Errorf("%d columns of %d", got, width)
		}
	}
}
