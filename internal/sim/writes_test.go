package sim

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// logged is a line of a WriteLog; instants in Unix nanoseconds.
type logged struct {
	answer             uint64
	trace              string
	frame, frames      int
	due, before, after int64
}

// readLog takes a log of the profile "fast" apart.
func readLog(t *testing.T, log *WriteLog, out *bytes.Buffer) []logged {
	t.Helper()
	if err := log.Flush(); err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(out.String(), "\n")
	if head != "profile,answer,trace,frame,frames,due,before,after" {
		t.Fatalf("header %s", head)
	}
	var list []logged
	for text := range strings.Lines(rest) {
		var l logged
		fields := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(text, ",,", ",-,"), ",", " "))
		_, err := fmt.Sscan(strings.Join(fields[1:], " "), &l.answer, &l.trace, &l.frame, &l.frames, &l.due, &l.before, &l.after)
		if err != nil || fields[0] != "fast" {
			t.Fatalf("line %q: %v", text, err)
		}
		list = append(list, l)
	}
	return list
}

// TestTheLogIsWhatWasSent compares the log with what the server recorded, for answers of all kinds, in virtual time: nothing is late.
func TestTheLogIsWhatWasSent(t *testing.T) {
	for _, test := range []struct {
		name, fault, path, body string
		frames                  []int         // of each Write
		wait                    time.Duration // before the first
		gap                     time.Duration // between Writes with tokens
	}{
		{"a frame a token, the end by itself", "", "/v1/chat/completions", chatFour, []int{1, 1, 1, 1, 0}, 20 * time.Millisecond, time.Millisecond},
		{"another dialect", "", "/v1/completions", completionFour, []int{1, 1, 1, 1, 0}, 20 * time.Millisecond, time.Millisecond},
		{"two tokens a frame", "tokens_per_frame=2", "/v1/chat/completions", chatFour, []int{1, 1, 0}, 21 * time.Millisecond, 2 * time.Millisecond},
		{"two frames a write", "batch_ms=2", "/v1/chat/completions", chatFour, []int{1, 2, 1}, 20 * time.Millisecond, 0},
		{"slow", "itl=3,slow_headers=1s", "/v1/chat/completions", chatFour, []int{1, 1, 1, 1, 0}, 1020 * time.Millisecond, 3 * time.Millisecond},
		{"cut", "cut_after=2", "/v1/chat/completions", chatFour, []int{1, 1}, 20 * time.Millisecond, time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			log := NewWriteLog(&out)
			bubble(t, Config{Log: log}, func(t *testing.T, r *rig) {
				r.inject(t, test.fault)
				r.post(t, test.path, test.body, "Traceparent", parent)
				sent := r.last(t)
				r.sim.Close()
				r.sim.Wait()
				list := readLog(t, log, &out)
				var frames []int
				for _, l := range list {
					frames = append(frames, l.frames)
				}
				if !slices.Equal(frames, test.frames) {
					t.Fatalf("frames of the Writes %v, want %v", frames, test.frames)
				}
				compare(t, list, sent)
				if first := time.Duration(list[0].due - sent.Start.UnixNano()); first != test.wait {
					t.Errorf("first Write due after %v, want %v", first, test.wait)
				}
				if gap := time.Duration(list[1].due - list[0].due); test.gap > 0 && gap != test.gap {
					t.Errorf("second Write due %v after the first, want %v", gap, test.gap)
				}
			})
			if late := log.Lateness(); late.Max != 0 || late.Writes == 0 {
				t.Errorf("late in virtual time: %v", late)
			}
		})
	}
}

// compare checks the lines of one answer against what the server recorded.
func compare(t *testing.T, list []logged, sent Sent) {
	t.Helper()
	next := 0
	for _, l := range list {
		if l.answer != sent.ID || l.trace != "0af7651916cd43dd8448eb211c80319c" || l.frame != next {
			t.Errorf("answer %d, trace %s, frame %d: want %d, the client's, %d", l.answer, l.trace, l.frame, sent.ID, next)
		}
		for _, f := range sent.Frames[next : next+l.frames] {
			if l.before != f.At.UnixNano() {
				t.Errorf("frame %d logged at %d, sent at %d", next, l.before, f.At.UnixNano())
			}
		}
		if l.due != l.before || l.after != l.before {
			t.Errorf("frame %d was due at %d, written at %d to %d: want one moment", next, l.due, l.before, l.after)
		}
		next += l.frames
	}
	if next != len(sent.Frames) {
		t.Errorf("%d frames logged, %d sent", next, len(sent.Frames))
	}
}

// TestTokensAreDueByAnAbsoluteSchedule holds that no token moves the ones behind it, and that the first waits for
// its beat.
func TestTokensAreDueByAnAbsoluteSchedule(t *testing.T) {
	p, beat := profile(t, "steady"), time.Unix(1763700000, 0)
	for _, early := range []time.Duration{0, 1, 2 * time.Millisecond, 5*time.Millisecond - 1} {
		dueByTheClock(t, p, beat.Add(-early), beat)
	}
}

// dueByTheClock holds that the tokens of a request that came at origin are due as if it had come at beat.
func dueByTheClock(t *testing.T, p Profile, origin, beat time.Time) {
	t.Helper()
	f := newFixed(p, origin, 80, 0, rand.New(rand.NewPCG(1, 1)))
	for k := range 10_000 {
		at, known, err := f.due(t.Context(), k, time.Time{})
		if want := beat.Add(time.Second + time.Duration(k)*20*time.Millisecond); !at.Equal(want) || !known || err != nil {
			t.Fatalf("token %d is due at %v, %v, %v, want %v", k, at, known, err, want)
		}
	}
}

// TestALogTakesSeveralAnswers holds that the lines of an answer stay together, and those of requests without a trace too.
func TestALogTakesSeveralAnswers(t *testing.T) {
	var out bytes.Buffer
	log := NewWriteLog(&out)
	bubble(t, Config{Log: log}, func(t *testing.T, r *rig) {
		done := make(chan struct{})
		go func() { r.post(t, "/v1/chat/completions", chatFour); close(done) }()
		r.post(t, "/v1/chat/completions", chatFour, "Traceparent", parent)
		<-done
		r.sim.Close()
		r.sim.Wait()
	})
	list := readLog(t, log, &out)
	if len(list) != 10 || list[0].answer != list[4].answer || list[5].answer != list[9].answer {
		t.Fatalf("the lines of two answers are %+v", list)
	}
	if list[0].trace == list[5].trace || list[0].trace != "-" && list[5].trace != "-" {
		t.Errorf("traces %s and %s: want none and the client's", list[0].trace, list[5].trace)
	}
}

// full is a disk without space.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestALogThatCannotBeWrittenSaysSo(t *testing.T) {
	log := NewWriteLog(full{})
	log.add("fast", 1, "", make([]written, 10_000))
	if err := log.Flush(); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

func TestTraceID(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	for header, want := range map[string]string{
		parent: id,
		"cc-" + id + "-b7ad6b7169203331-01-what-will-be": id,
		"":         "",
		"00-" + id: "",
		"00-" + strings.ToUpper(id) + "-b7ad6b7169203331-01":      "",
		"00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01":  "",
		"00-0af7651916cd43dd8448eb211c80319,-b7ad6b7169203331-01": "",
	} {
		if got := traceID(http.Header{"Traceparent": {header}}); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

func TestLateness(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var l lateness
	var all []time.Duration
	for range 10_000 {
		d := time.Duration(random.ExpFloat64() * 1e6)
		all = append(all, d)
		l.add(d)
	}
	slices.Sort(all)
	got := l.summary()
	for _, q := range []struct{ got, want time.Duration }{{got.P50, all[4999]}, {got.P99, all[9899]}} {
		if q.got < q.want || q.got > q.want+q.want/16 {
			t.Errorf("quantile %v, want %v or a little more", q.got, q.want)
		}
	}
	if got.Max != all[9999] || got.Writes != 10_000 {
		t.Errorf("%+v, want %v at most", got, all[9999])
	}
	l.add(-time.Second)
	l.add(1<<63 - 1)
	if got := l.summary(); got.Max != 1<<63-1 || got.Writes != 10_002 {
		t.Errorf("%+v", got)
	}
}

// TestBucketsCover holds that the buckets follow each other without a hole.
func TestBucketsCover(t *testing.T) {
	for bucket := range 900 {
		end := endOf(bucket)
		if bucketOf(end) != bucket || bucketOf(end+1) != bucket+1 {
			t.Fatalf("bucket %d ends at %d, which is in %d; the next in %d", bucket, end, bucketOf(end), bucketOf(end+1))
		}
	}
}
