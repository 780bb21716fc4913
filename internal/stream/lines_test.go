package stream

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// readLines reads every line of body, asking for ask bytes at once.
func readLines(body io.Reader, ask int) ([]string, error) {
	l := NewLines(body, noStamp, ask)
	var lines []string
	for {
		f, err := l.Next()
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(f.Data))
	}
}

func TestLines(t *testing.T) {
	tests := []struct {
		name string
		body string
		want []string
		err  error
	}{
		{"an empty body has no lines", "", nil, io.EOF},
		{"LF ends lines", "{\"a\":1}\n{\"a\":2}\n", []string{`{"a":1}`, `{"a":2}`}, io.EOF},
		{"CRLF ends lines", "{\"a\":1}\r\n{\"a\":2}\r\n", []string{`{"a":1}`, `{"a":2}`}, io.EOF},
		{"CR alone is white space", "{\"a\":\r1}\r\r\n", []string{"{\"a\":\r1}"}, io.EOF},
		{"blank lines are none", "\n\r\n{}\n \n\n", []string{"{}"}, io.EOF},
		{"white space around is dropped", " {} \t\n", []string{"{}"}, io.EOF},
		{"what is no JSON is a line", "upstream timeout\n", []string{"upstream timeout"}, io.EOF},
		{"the end completes a last line", "{}\n{\"a\":1}", []string{"{}", `{"a":1}`}, io.EOF},
		{"the end after white space", "{}\n ", []string{"{}"}, io.EOF},
		{"the end inside a JSON text is unexpected", "{}\n{\"a\":", []string{"{}"}, io.ErrUnexpectedEOF},
		{"so is it inside what is no JSON", "{}\nupstr", []string{"{}"}, io.ErrUnexpectedEOF},
		{"and inside what may be half a number", "12", nil, io.ErrUnexpectedEOF},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, ask := range []int{1, 2, 3, 4096} {
				for name, body := range readers(test.body) {
					got, err := readLines(body, ask)
					if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.err) {
						t.Errorf("asking %d of %s: error %v, lines (-want +got):\n%s", ask, name, err, diff)
					}
				}
			}
		})
	}
}

func TestLinesKeepTheBodysError(t *testing.T) {
	reset := errors.New("connection reset")
	body := io.MultiReader(strings.NewReader("{\"a\":1}\n{\"b\":1}"), iotest.ErrReader(reset))
	l := NewLines(body, noStamp, 64)
	if f, err := l.Next(); err != nil || string(f.Data) != `{"a":1}` {
		t.Fatalf("first line: %q, %v", f.Data, err)
	}
	for range 2 {
		if f, err := l.Next(); !errors.Is(err, reset) {
			t.Errorf("after the reset: %q, %v; want %v", f.Data, err, reset)
		}
	}
}

func TestLinesEndForEver(t *testing.T) {
	for body, want := range map[string]error{"{}": io.EOF, "{}\n{": io.ErrUnexpectedEOF} {
		l := NewLines(strings.NewReader(body), noStamp, 64)
		if f, err := l.Next(); err != nil || string(f.Data) != "{}" {
			t.Errorf("%q: %q, %v", body, f.Data, err)
		}
		for range 2 {
			if f, err := l.Next(); !errors.Is(err, want) {
				t.Errorf("after the end of %q: %q, %v; want %v", body, f.Data, err, want)
			}
		}
	}
}

func TestLinesFrameLimit(t *testing.T) {
	largest := strings.Repeat("x", MaxFrame)
	tests := []struct {
		name string
		body io.Reader
		err  error
	}{
		{"the largest line", strings.NewReader(largest + "\n"), nil},
		{"one byte more", strings.NewReader(largest + "x\n"), ErrTooLong},
		{"a line without end", endless("x"), ErrTooLong},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := NewLines(test.body, noStamp, 4096)
			if _, err := l.Next(); !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
		})
	}
}

// TestLinesWaitForNoByteTheyDoNotNeed gives the reader exactly the bytes up to the
// end of a line: a read beyond would panic.
func TestLinesWaitForNoByteTheyDoNotNeed(t *testing.T) {
	for _, body := range []string{"{}\n", "\n{}\r\n"} {
		l := NewLines(&strict{left: body}, noStamp, 1)
		if f, err := l.Next(); err != nil || string(f.Data) != "{}" {
			t.Errorf("%q: %q, %v", body, f.Data, err)
		}
	}
}

// TestLinesStampTheReadThatCompletedTheFrame cuts two lines at every position, a
// second between the two reads.
func TestLinesStampTheReadThatCompletedTheFrame(t *testing.T) {
	const first, second = "{\"a\":1}\r\n", "{\"b\":2}\n"
	body := first + second
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for cut := 1; cut < len(body); cut++ {
		source := &timed{parts: []string{body[:cut], body[cut:]}, epoch: epoch}
		l := NewLines(source, source.last, 1)
		for i, end := range []int{len(first), len(body)} {
			want := uint64(1)
			if end > cut {
				want = 2
			}
			f, err := l.Next()
			if err != nil || f.Read != want || !f.At.Equal(epoch.Add(time.Duration(want)*time.Second)) {
				t.Errorf("cut at %d, line %d: read %d at %v, %v; want read %d", cut, i, f.Read, f.At, err, want)
			}
		}
	}
}

// FuzzLines holds that the way a body is cut into reads never changes its lines,
// and that a line has neither line ends nor white space around it.
func FuzzLines(f *testing.F) {
	f.Add("{\"a\":1}\n\r\n{\"b\":\r2}\r\n[DONE]", uint8(3))
	f.Add(" x \n{", uint8(1))
	f.Fuzz(func(t *testing.T, body string, ask uint8) {
		want, wantErr := readLines(strings.NewReader(body), 4096)
		got, err := readLines(iotest.OneByteReader(strings.NewReader(body)), 1+int(ask))
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, wantErr) {
			t.Errorf("errors %v and %v, lines (-whole +cut):\n%s", wantErr, err, diff)
		}
		for _, line := range got {
			if line == "" || strings.Contains(line, "\n") || strings.TrimSpace(line) != line {
				t.Errorf("%q is a line of %q", line, body)
			}
		}
	})
}
