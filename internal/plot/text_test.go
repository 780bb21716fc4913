package plot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCut(t *testing.T) {
	long := strings.Repeat("name ", 100)
	for _, c := range []struct {
		text  string
		limit float64
		want  string
	}{
		{"short", 100, "short"},
		{"", 0, ""},
		{"aaaaaaaaaa", 6, "aaaaaaaaaa"},
		{"aaaaaaaaaa", 5.9, "aaaaaaaa…"},
		{"aaa aaaaaaa", 3.5, "aaa…"},
		{"東京東京東京", 4.5, "東京東…"},
		{"abc", 0.5, "…"},
	} {
		got := cut(c.text, 1, c.limit)
		if got != c.want {
			t.Errorf("%q cut to %v is %q, want %q", c.text, c.limit, got, c.want)
		}
	}
	for limit := 20.0; limit < 400; limit++ {
		if got := width(cut(long, 13, limit), 13); got > limit {
			t.Fatalf("cut to %v it takes %v", limit, got)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit float64
		want  []string
	}{
		{"", 10, nil},
		{"one", 10, []string{"one"}},
		{"aaaa bbbb cccc", 6, []string{"aaaa bbbb", "cccc"}},
		{"aaaa bbbbbbbbbbbbbbbb", 4, []string{"aaaa", "bbbb…"}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.text, 1, c.limit)); diff != "" {
			t.Errorf("%q in lines of %v (-want +got):\n%s", c.text, c.limit, diff)
		}
	}
}
