package format

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 1: "0.00 µs", 850 * time.Microsecond: "850 µs", 999600: "1.00 ms", 12345 * time.Microsecond: "12.3 ms",
		999600 * time.Microsecond: "1.00 s", 1634 * time.Millisecond: "1.63 s", 120 * time.Second: "120 s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d ns is %q, want %q", d, got, want)
		}
		if got := Seconds(d.Seconds()); got != want {
			t.Errorf("%g s is %q, want %q", d.Seconds(), got, want)
		}
	}
}

func TestShort(t *testing.T) {
	for seconds, want := range map[float64]string{2: "2 s", 1.5: "1.5 s", 0.25: "250 ms", 120: "120 s"} {
		if got := Short(seconds); got != want {
			t.Errorf("%g s is %q, want %q", seconds, got, want)
		}
	}
}

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{
		3200 * time.Millisecond: "3.2 s", 9970 * time.Millisecond: "9.9 s", 10 * time.Second: "10 s",
		59900 * time.Millisecond: "59 s", 61 * time.Second: "1 min",
		5*time.Hour + 12*time.Minute: "5 h 12 min", 50 * time.Hour: "2 d 2 h",
	} {
		if got := Elapsed(d.Seconds()); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{
		0: "0 tokens", 1: "1 token", 100: "100 tokens", 999: "999 tokens", 21000: "21,000 tokens",
		-123456: "-123,456 tokens", -1234567: "-1,234,567 tokens",
	} {
		if got := Count(n, "token"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestList(t *testing.T) {
	for want, words := range map[string][]string{
		"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"},
	} {
		if got := List(words); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"vllm a":                "vllm a",
		" a\t\nb\u00a0\u2028c ": "a b c",
		"a\x00\x1b[31mb\x7f":    "ab",
		"a\r\n b\x1b[1m\u202ec": "a bc",
		"\x1b[1;38;5;9mred\x1b[0m, \x1b[2K\x1b[1Anone \u009b4mlined":                  "red, none lined",
		"\x1b]0;own title\aa \x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\ \x1bPq1\x1b\\": "a link",
		"no end \x1b]0;title": "no end 0;title",
		"cut \x1b[3":          "cut",
		"reset\x1bc\x1b(B":    "reset",
		"right\u202eto left":  "rightto left",
		"\ufffe\uffff":        "",
		"broken \xff utf-8":   "broken \ufffd utf-8",
		"東京 é 🚀":              "東京 é 🚀",
	} {
		if got := Clean(text); got != want {
			t.Errorf("%q is %q when clean, want %q", text, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for n, want := range map[int]string{-1: "", 0: "", 1: "…", 2: "東…", 3: "東京é", 4: "東京é"} {
		if got := Shorten("東京é", n); got != want {
			t.Errorf("in %d runes: %q, want %q", n, got, want)
		}
	}
}
