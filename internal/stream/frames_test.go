package stream

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// event is what the tables say of a frame; a line has no name.
type event struct{ Name, Data string }

// A reader is [NewSSE] or [NewLines].
type reader func(body io.Reader, arrivals func(end int64) Arrival, ask int) *Frames

// noArrival knows no arrivals.
func noArrival(int64) Arrival { return Arrival{} }

// all reads every frame of body, asking for ask bytes at once.
func (r reader) all(body io.Reader, ask int) ([]event, error) {
	s := r(body, noArrival, ask)
	var events []event
	for {
		f, err := s.Next()
		if err != nil {
			return events, err
		}
		events = append(events, event{f.Event, string(f.Data)})
	}
}

// A bodyCase is a body and its frames.
type bodyCase struct {
	name string
	body string
	want []event
	err  error
}

func TestSSE(t *testing.T) {
	checkBodies(t, NewSSE, []bodyCase{
		{"an empty body has no events", "", nil, io.EOF},
		{"LF ends lines", "data: a\n\ndata: b\n\n", []event{{"", "a"}, {"", "b"}}, io.EOF},
		{"CRLF ends lines", "data: a\r\n\r\ndata: b\r\n\r\n", []event{{"", "a"}, {"", "b"}}, io.EOF},
		{"CR ends lines", "data: a\r\rdata: b\r\r", []event{{"", "a"}, {"", "b"}}, io.EOF},
		{"line ends may be mixed", "data: a\r\n\ndata: b\n\rdata: c\r\n\r", []event{{"", "a"}, {"", "b"}, {"", "c"}}, io.EOF},
		{"a BOM at the start is dropped", "\xef\xbb\xbfdata: a\n\n", []event{{"", "a"}}, io.EOF},
		{"a BOM later is data", "data: a\n\n\xef\xbb\xbfdata: b\n\n", []event{{"", "a"}}, io.EOF},
		{"the space after the colon is optional", "data:a\n\n", []event{{"", "a"}}, io.EOF},
		{"only one space is dropped", "data:  a \n\n", []event{{"", " a "}}, io.EOF},
		{"data lines are joined by LF", "data: a\ndata:\ndata: b\n\n", []event{{"", "a\n\nb"}}, io.EOF},
		{"a JSON text over several lines is one event", "data: {\ndata: \"a\":1}\n\n", []event{{"", "{\n\"a\":1}"}}, io.EOF},
		{"a list over several lines is one event", "data: [1,\ndata: [2]]\n\n", []event{{"", "[1,\n[2]]"}}, io.EOF},
		{"comments are no events", ": ping\n\n:\n\ndata: a\n\n", []event{{"", "a"}}, io.EOF},
		{"the comment of an error says it", "event: error\n: engine died\n\n", []event{{"error", "engine died"}}, io.EOF},
		{"its data tell it better", "event: error\n: engine died\ndata: x\n\n", []event{{"error", "x"}}, io.EOF},
		{"so it does at the end", "event: error\n: engine died", []event{{"error", "engine died"}}, io.EOF},
		{"an error may say nothing", "event: error\n", []event{{"error", ""}}, io.EOF},
		{"another event without data is none at the end", "event: x\n: y\n", nil, io.EOF},
		{"a comment may stand before data", ": ping\ndata: a\n\n", []event{{"", "a"}}, io.EOF},
		{"the event field names the event", "event: x\ndata: a\n\ndata: b\n\n", []event{{"x", "a"}, {"", "b"}}, io.EOF},
		{"an event without data is dropped with its name", "event: x\n\ndata: b\n\n", []event{{"", "b"}}, io.EOF},
		{"an empty data field is an event", "data\n\ndata:\n\n", []event{{"", ""}, {"", ""}}, io.EOF},
		{"other fields are ignored", "id: 1\nretry: 5\nfoo: bar\ndata: a\n\n", []event{{"", "a"}}, io.EOF},
		{"the end dispatches what is pending", "data: {\"a\":1}\n", []event{{"", `{"a":1}`}}, io.EOF},
		{"the end dispatches a last line without its end", "data: {\"a\":1}", []event{{"", `{"a":1}`}}, io.EOF},
		{"the end dispatches [DONE]", "data: [DONE]", []event{{"", "[DONE]"}}, io.EOF},
		{"the end inside a JSON text is unexpected", "data: a\n\ndata: {\"a\":", []event{{"", "a"}}, io.ErrUnexpectedEOF},
		{"JSON events ended by one LF are separate", "data: {\"a\":1}\ndata: {\"a\":2}\ndata: [DONE]\n",
			[]event{{"", `{"a":1}`}, {"", `{"a":2}`}, {"", "[DONE]"}}, io.EOF},
		{"so they are when only the last has a blank line", "data: {}\ndata: [DONE]\n\n",
			[]event{{"", "{}"}, {"", "[DONE]"}}, io.EOF},
		{"a name between two of them is that of the second", "event: a\ndata: {}\nevent: b\ndata: {\"x\":1}\nevent: c\ndata: pong\n\n",
			[]event{{"a", "{}"}, {"b", `{"x":1}`}, {"c", "pong"}}, io.EOF},
		{"a name after data is that of its event if no data follow", "data: {}\nevent: a\n\ndata: {}\n\n",
			[]event{{"a", "{}"}, {"", "{}"}}, io.EOF},
		{"so it is at the end", "data: {}\nevent: a\n", []event{{"a", "{}"}}, io.EOF},
		{"a name within a JSON text is that of its event", "data: [1,\nevent: a\ndata: 2]\n\n", []event{{"a", "[1,\n2]"}}, io.EOF},
		{"what goes on after whole JSON is one event", "data: {}x\ndata: {}\n\n", []event{{"", "{}x\n{}"}}, io.EOF},
		{"what only looks whole is one event", "data: {]\ndata: {}\n\n", []event{{"", "{]\n{}"}}, io.EOF},
		{"brackets in strings close nothing", `data: {"a":"}\"]"` + "\ndata: ,\"b\":[]}\ndata: {}\n\n",
			[]event{{"", `{"a":"}\"]"` + "\n,\"b\":[]}"}, {"", "{}"}}, io.EOF},
		{"JSON without a field is an event", "{\"a\":1}\n\ndata: {\"b\":2}\n{\"c\":3}\n\n",
			[]event{{"", `{"a":1}`}, {"", `{"b":2}`}, {"", `{"c":3}`}}, io.EOF},
		{"so are lines of JSON", "{\"a\":1}\r\n{\"b\":2}", []event{{"", `{"a":1}`}, {"", `{"b":2}`}}, io.EOF},
		{"it has the name before it", "event: error\n{\"a\":1}\n\n", []event{{"error", `{"a":1}`}}, io.EOF},
		{"JSON over several lines without a field is none", "{\n\"a\":1\n}\n\n", nil, io.EOF},
		{"nor is JSON within an event that is not whole", "data: {\n{\"a\":1}\ndata: }\n\n", []event{{"", "{\n}"}}, io.EOF},
		{"white space after the JSON stays", "data: {} \n\n", []event{{"", "{} "}}, io.EOF},
	})
}

func TestLines(t *testing.T) {
	checkBodies(t, NewLines, []bodyCase{
		{"an empty body has no lines", "", nil, io.EOF},
		{"LF ends lines", "{\"a\":1}\n{\"a\":2}\n", []event{{"", `{"a":1}`}, {"", `{"a":2}`}}, io.EOF},
		{"CRLF ends lines", "{\"a\":1}\r\n{\"a\":2}\r\n", []event{{"", `{"a":1}`}, {"", `{"a":2}`}}, io.EOF},
		{"CR alone is white space", "{\"a\":\r1}\r\r\n", []event{{"", "{\"a\":\r1}"}}, io.EOF},
		{"blank lines are none", "\n\r\n{}\n \n\n", []event{{"", "{}"}}, io.EOF},
		{"white space around is dropped", " {} \t\n", []event{{"", "{}"}}, io.EOF},
		{"what is no JSON is a line", "upstream timeout\n", []event{{"", "upstream timeout"}}, io.EOF},
		{"the end completes a last line", "{}\n{\"a\":1}", []event{{"", "{}"}, {"", `{"a":1}`}}, io.EOF},
		{"the end after white space", "{}\n ", []event{{"", "{}"}}, io.EOF},
		{"the end inside a JSON text is unexpected", "{}\n{\"a\":", []event{{"", "{}"}}, io.ErrUnexpectedEOF},
		{"so is it inside what is no JSON", "{}\nupstr", []event{{"", "{}"}}, io.ErrUnexpectedEOF},
		{"and inside what may be half a number", "12", nil, io.ErrUnexpectedEOF},
		{"a BOM at the start is dropped", "\xef\xbb\xbf{}\n", []event{{"", "{}"}}, io.EOF},
		{"events instead of lines", "data: a\r\n\r\ndata: b\r\n\r\n", []event{{"", "a"}, {"", "b"}}, io.EOF},
		{"comments first", "\n: ping\n\nevent: x\ndata: a\n\n", []event{{"x", "a"}}, io.EOF},
		{"an event without its end", "data: {}", []event{{"", "{}"}}, io.EOF},
	})
}

// TestUnfielded holds what is kept of an event stream beside its fields, and whether the body begins as its type says.
func TestUnfielded(t *testing.T) {
	const kept = 64 << 10
	for _, test := range []struct {
		name string
		reader
		body       string
		want       string
		mislabeled bool
	}{
		{"fields alone", NewSSE, ": x\nid: 1\nretry: 5\nevent: y\ndata: z\n\n", "", false},
		{"JSON over several lines", NewSSE, "data: a\n\n{\n \"error\": 1\n}\n", "{\n \"error\": 1\n}\n", false},
		{"a text without its end", NewSSE, "data: a\n\nupstream timeout", "upstream timeout\n", false},
		{"a text before events", NewSSE, "oops: it failed\n\ndata: a\n\n", "oops: it failed\n", false},
		{"a JSON text after an event", NewSSE, "data: a\n\n{}\n", "", false},
		{"one that a single line end separates from it", NewSSE, "data: {}\n{}\n", "", false},
		{"JSON texts alone", NewSSE, "{}\n{}\n", "", true},
		{"more than is kept", NewSSE, strings.Repeat("x", kept-1) + "\nyz\nz\n", strings.Repeat("x", kept-1) + "\n", false},
		{"a line", NewLines, "{}\nupstr", "", false},
		{"an event instead", NewLines, "data: {}\n\nx\n", "x\n", true},
	} {
		for _, cut := range []bool{false, true} { // the connection breaks instead of the body's end
			end := io.EOF
			if cut {
				end = io.ErrClosedPipe
			}
			s := test.reader(endsWith(test.body, end), noArrival, 4096)
			_, err := s.Next()
			for err == nil {
				_, err = s.Next()
			}
			if got := string(s.Unfielded()); got != test.want || s.Mislabeled() != test.mislabeled {
				t.Errorf("%s, cut %v: %q, mislabeled %v; want %q", test.name, cut, got, s.Mislabeled(), test.want)
			}
		}
	}
}

func checkBodies(t *testing.T, r reader, tests []bodyCase) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, ask := range []int{1, 2, 3, 4096} {
				for name, body := range readers(test.body) {
					got, err := r.all(body, ask)
					if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.err) {
						t.Errorf("asking %d of %s: error %v, frames (-want +got):\n%s", ask, name, err, diff)
					}
				}
			}
		})
	}
}

// endsWith returns a body that fails after a text.
func endsWith(text string, err error) io.Reader {
	return io.MultiReader(strings.NewReader(text), iotest.ErrReader(err))
}

// readers returns the ways in which a body may arrive.
func readers(body string) map[string]io.Reader {
	return map[string]io.Reader{
		"the whole":         strings.NewReader(body),
		"one byte a read":   iotest.OneByteReader(strings.NewReader(body)),
		"half of each read": iotest.HalfReader(strings.NewReader(body)),
		"data with EOF":     iotest.DataErrReader(strings.NewReader(body)),
	}
}

// TestErrorsStay holds that the body's error and its end are returned for ever, after the one frame before them.
func TestErrorsStay(t *testing.T) {
	reset := errors.New("connection reset")
	for _, test := range []struct {
		name string
		reader
		body io.Reader
		err  error
	}{
		{"reset events", NewSSE, endsWith("data: {}\n\ndata: {\"b\":1\n", reset), reset},
		{"reset words", NewSSE, endsWith("data: {}\n\ndata: a", reset), reset},
		{"reset lines", NewLines, endsWith("{}\n{\"b\":1", reset), reset},
		{"the end", NewLines, strings.NewReader("{}"), io.EOF},
		{"the end inside a line", NewLines, strings.NewReader("{}\n{"), io.ErrUnexpectedEOF},
	} {
		s := test.reader(test.body, noArrival, 64)
		if f, err := s.Next(); err != nil || string(f.Data) != "{}" {
			t.Fatalf("%s, first frame: %q, %v", test.name, f.Data, err)
		}
		for range 2 {
			if f, err := s.Next(); !errors.Is(err, test.err) {
				t.Errorf("%s, then: %q, %v; want %v", test.name, f.Data, err, test.err)
			}
		}
	}
}

// TestWholeTextOfABodyThatBreaks holds that a JSON text or an end marker is a frame if the body breaks off right behind
// it.
func TestWholeTextOfABodyThatBreaks(t *testing.T) {
	reset := errors.New("connection reset")
	for _, test := range []struct {
		reader
		body, want string
	}{
		{NewSSE, "data: {\"b\":1}", `{"b":1}`},
		{NewSSE, "data: {\"b\":1}\n", `{"b":1}`},
		{NewSSE, "data:[DONE]", "[DONE]"},
		{NewSSE, "{\"b\":1}", `{"b":1}`},
		{NewLines, "{\"b\":1}", `{"b":1}`},
	} {
		s := test.reader(endsWith(test.body, reset), noArrival, 64)
		f, err := s.Next()
		if err != nil || string(f.Data) != test.want {
			t.Errorf("%q: %q, %v; want %q", test.body, f.Data, err, test.want)
		}
		_, err = s.Next()
		if !errors.Is(err, reset) {
			t.Errorf("%q, then: %v; want %v", test.body, err, reset)
		}
	}
}

func TestFrameLimit(t *testing.T) {
	largest := strings.Repeat("x", MaxFrame-len("data: "))
	for _, test := range []struct {
		name string
		reader
		body io.Reader
		err  error
	}{
		{"two of the largest events", NewSSE, repeated(2, "data: "+largest+"\n\n"), io.EOF},
		{"one byte more", NewSSE, strings.NewReader("data: x" + largest + "\n\n"), ErrTooLong},
		{"a field without end", NewSSE, endless("data: x"), ErrTooLong},
		{"a comment without end", NewSSE, endless(":"), ErrTooLong},
		{"an event of endless lines", NewSSE, endless("data: x\n"), ErrTooLong},
		{"two of the largest lines", NewLines, repeated(2, "123456"+largest+"\n"), io.EOF},
		{"one byte more in a line", NewLines, strings.NewReader("1234567" + largest + "\n"), ErrTooLong},
		{"a line without end", NewLines, endless("x"), ErrTooLong},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := test.reader(test.body, noArrival, 4096)
			_, err := s.Next()
			for err == nil {
				_, err = s.Next()
			}
			if !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
		})
	}
}

// TestManyLinesOfOneEvent holds that the work on an event grows with its length, and not with its square: with the
// square, this test would take many minutes.
func TestManyLinesOfOneEvent(t *testing.T) {
	for name, first := range map[string]string{
		"a list that stays open":       "data: [" + strings.Repeat("1,", 1<<20) + "\n",
		"a text that only seems whole": "data: {\"a\":\"" + strings.Repeat("x", 2<<20) + "\"}x\n",
	} {
		t.Run(name, func(t *testing.T) {
			body := io.MultiReader(strings.NewReader(first), endless("data:{}\nevent: a\n"))
			_, err := reader(NewSSE).all(body, 2048)
			if !errors.Is(err, ErrTooLong) {
				t.Error(err)
			}
		})
	}
}

// repeated returns a body of a text n times.
func repeated(n int, text string) io.Reader {
	all := make([]io.Reader, n)
	for i := range all {
		all[i] = strings.NewReader(text)
	}
	return io.MultiReader(all...)
}

// endless repeats a text for ever.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// TestWaitsForNoByteItDoesNotNeed gives the reader exactly the bytes up to the end of a frame and nothing after
// them: a read beyond would panic.
func TestWaitsForNoByteItDoesNotNeed(t *testing.T) {
	for body, r := range map[string]reader{
		"data: {}\n\n": NewSSE, "data: {}\r\r": NewSSE, "data: {}\r\n\r": NewSSE, "\xef\xbb\xbfdata: {}\n\n": NewSSE,
		"{}\n": NewLines, "\n{}\r\n": NewLines,
	} {
		if f, err := r(&strict{left: body}, noArrival, 1).Next(); err != nil || string(f.Data) != "{}" {
			t.Errorf("%q: %q, %v", body, f.Data, err)
		}
	}
}

// strict is a body that must not be read beyond its end.
type strict struct{ left string }

func (s *strict) Read(p []byte) (int, error) {
	if s.left == "" {
		panic("read beyond the end of the frame")
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

// TestAFrameHasTheArrivalOfTheReadThatCompletedIt cuts two frames at every position, into two reads: a frame has the
// arrival of the read that brought its last byte.
func TestAFrameHasTheArrivalOfTheReadThatCompletedIt(t *testing.T) {
	for _, test := range []struct {
		reader
		first, second string
		end           int // of the first frame: the last LF of CR LF CR LF is not needed
	}{
		{NewSSE, "data: {\"a\":1}\r\n\r\n", "data: {\"b\":2}\n\n", len("data: {\"a\":1}\r\n\r")},
		{NewSSE, "data: {\"a\":1}\n", "data: [DONE]\n", len("data: {\"a\":1}\n")}, // separated by one line end
		{NewLines, "{\"a\":1}\r\n", "{\"b\":2}\n", len("{\"a\":1}\r\n")},
	} {
		body := test.first + test.second
		for cut := range body {
			readOf := func(end int64) Arrival {
				if end > int64(cut) {
					return Arrival{Read: 2}
				}
				return Arrival{Read: 1}
			}
			for _, ask := range []int{1, 4096} {
				s := test.reader(strings.NewReader(body), readOf, ask)
				for _, end := range []int{test.end, len(body)} {
					if f, err := s.Next(); err != nil || f.Arrival != readOf(int64(end)) {
						t.Errorf("%q cut at %d, frame that ends at %d: read %d, %v", body, cut, end, f.Read, err)
					}
				}
			}
		}
	}
}

// FuzzSSE holds that the way a body is cut into reads never changes its events.
func FuzzSSE(f *testing.F) {
	f.Add("data: a\n\ndata: {\"b\":1}\ndata: {}\r\r", uint8(3))
	f.Add("\xef\xbb\xbf: c\r\nevent: x\rdata:\r\n\r\n", uint8(1))
	f.Fuzz(func(t *testing.T, body string, ask uint8) { checkReads(t, NewSSE, body, int(ask)) })
}

// FuzzLines holds the same of lines, and that a line has neither line ends nor white space around it.
func FuzzLines(f *testing.F) {
	f.Add("{\"a\":1}\n\r\n{\"b\":\r2}\r\n[DONE]", uint8(3))
	f.Add(" x \n{", uint8(1))
	f.Fuzz(func(t *testing.T, body string, ask uint8) {
		for _, line := range checkReads(t, NewLines, body, int(ask)) {
			if line.Data == "" || strings.Contains(line.Data, "\n") || strings.TrimSpace(line.Data) != line.Data {
				t.Errorf("%q is a line of %q", line.Data, body)
			}
		}
	})
}

// checkReads reads a body whole and byte by byte, and returns its frames.
func checkReads(t *testing.T, r reader, body string, ask int) []event {
	t.Helper()
	want, wantErr := r.all(strings.NewReader(body), 4096)
	got, err := r.all(iotest.OneByteReader(strings.NewReader(body)), 1+ask)
	if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, wantErr) {
		t.Errorf("errors %v and %v, frames (-whole +cut):\n%s", wantErr, err, diff)
	}
	return got
}
