package stream

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A wait of these tests lasts for a pause. Its looks, after 800 ms without, are at 800, 820 and 840.5 ms; the next one
// would be at 861.5 ms.
const (
	pause    = 850 * time.Millisecond
	lastLook = 840500 * time.Microsecond
)

// A fakeSocket is one end of a pipe that is read with timestamps, as a socket is, in the time of a bubble. What is
// written to the other end arrives late milliseconds before it can be read: the reader was not running.
type fakeSocket struct {
	net.Conn
	late  time.Duration
	reads atomic.Int64 // attempts so far
}

func (f *fakeSocket) receive(p []byte) (receipt, error) {
	f.reads.Add(1)
	began := time.Now()
	n, err := f.Read(p)
	r := receipt{n: n, empty: began, began: time.Now(), at: time.Now()}
	if n > 0 {
		r.kernel = r.at.Add(-f.late).UnixNano()
	}
	return r, err
}

// watched returns a connection with timestamps in a bubble, and the server's end of it.
func watched(t *testing.T) (conn *Conn, socket *fakeSocket, server net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	socket = &fakeSocket{Conn: client}
	conn = NewConn(client)
	conn.receive = socket.receive
	t.Cleanup(func() { _, _ = conn.Close(), server.Close() })
	return conn, socket, server
}

// TestALookBoundsALateRead holds that the bytes of a late read cannot be older than the last look, which is recent. A
// timestamp that is older is rejected: such bytes waited in TCP for a packet that was missing.
func TestALookBoundsALateRead(t *testing.T) {
	for name, test := range map[string]struct {
		wait, late time.Duration
		look       time.Duration // the last moment at which nothing had come; 0: when the read began
		rejected   int
	}{
		"bytes come after some looks":       {wait: pause, look: lastLook},
		"bytes are read later than that":    {wait: pause, late: 5 * time.Millisecond, look: lastLook},
		"bytes come before the first look":  {wait: 500 * time.Millisecond},
		"the timestamp is older than looks": {wait: pause, late: 100 * time.Millisecond, look: lastLook, rejected: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, socket, server := watched(t)
				socket.late = test.late
				start := time.Now()
				watch := &Watch{quiet: 800 * time.Millisecond}
				watch.Begin(conn, start)
				go func() {
					time.Sleep(test.wait)
					_, _ = io.WriteString(server, "token")
				}()
				read(t, conn, "token")
				want := Arrival{At: start.Add(test.wait), Read: 1, NotBefore: start.Add(test.look)}
				if test.rejected == 0 {
					want.At = want.At.Add(-test.late)
					want.Kernel = true
					want.Delay = test.late
				}
				if diff := cmp.Diff(want, conn.Last()); diff != "" || conn.Rejected() != test.rejected {
					t.Errorf("%d rejected, timestamp (-want +got):\n%s", conn.Rejected(), diff)
				}
			})
		})
	}
}

// read reads a text, which must come whole.
func read(t *testing.T, from io.Reader, want string) {
	t.Helper()
	buf := make([]byte, 64)
	n, err := from.Read(buf)
	if string(buf[:n]) != want || err != nil {
		t.Fatalf("read %q, %v; want %q", buf[:n], err, want)
	}
}

// TestLooksAreMadeWhereSomethingIsAwaited holds that there are no looks before the wait begins and after its end, also
// if a read waits already, and few while an answer flows.
func TestLooksAreMadeWhereSomethingIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, socket, server := watched(t)
		bytes := make(chan byte)
		go func() {
			defer close(bytes)
			for buf := make([]byte, 1); ; bytes <- buf[0] {
				if _, err := conn.Read(buf); err != nil {
					return
				}
			}
		}()
		attempts := func(during func()) int {
			synctest.Wait()
			before := socket.reads.Load()
			during()
			synctest.Wait()
			return int(socket.reads.Load() - before)
		}
		hour := func() { time.Sleep(time.Hour) }
		if n := attempts(hour); n != 0 {
			t.Errorf("%d looks before anything was awaited", n)
		}
		watch := &Watch{quiet: 800 * time.Millisecond}
		watch.Begin(conn, time.Now())
		if n := attempts(func() { time.Sleep(850 * time.Millisecond) }); n != 3 {
			t.Errorf("%d looks in a wait of 850 ms, want 3", n)
		}
		watch.AnswerBegan()
		flowing := func() {
			for i := range 100 {
				time.Sleep(time.Duration(20+i%2) * time.Millisecond)
				_, _ = server.Write([]byte("x"))
				<-bytes
			}
		}
		if n := attempts(flowing); n != 100+9 {
			t.Errorf("%d looks in 100 gaps of 20 and 21 ms, want 9", n-100)
		}
		watch.End()
		if n := attempts(hour); n != 0 {
			t.Errorf("%d looks after the end", n)
		}
		_ = conn.Close()
		<-bytes
	})
}

// TestDeadlinesKeepTheirMeaning holds that a deadline of the connection's user ends a read when it passes, with
// looks or without, whether it was set before the read or while it waits. It can be lifted.
func TestDeadlinesKeepTheirMeaning(t *testing.T) {
	for name, set := range map[string]func(*Conn, time.Time) error{
		"SetReadDeadline": (*Conn).SetReadDeadline, "SetDeadline": (*Conn).SetDeadline,
	} {
		for _, looks := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				conn, _, server := watched(t)
				start := time.Now()
				if looks {
					new(Watch).Begin(conn, start)
				}
				expires := func(want time.Duration) {
					t.Helper()
					n, err := conn.Read(make([]byte, 1))
					if n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != want {
						t.Errorf("%s, looks %t: %d bytes, %v after %v; want a deadline after %v",
							name, looks, n, err, time.Since(start), want)
					}
				}
				_ = set(conn, start.Add(333*time.Millisecond))
				expires(333 * time.Millisecond)
				expires(333 * time.Millisecond) // for ever

				_ = set(conn, time.Time{})
				go func() {
					time.Sleep(111 * time.Millisecond)
					_ = set(conn, time.Now().Add(222*time.Millisecond))
				}()
				expires(666 * time.Millisecond)

				go func() {
					time.Sleep(10 * time.Millisecond)
					_ = set(conn, time.Unix(1, 0)) // as net/http and crypto/tls interrupt a read
				}()
				_ = set(conn, time.Time{})
				expires(676 * time.Millisecond)

				_ = set(conn, time.Time{})
				go func() { _, _ = io.WriteString(server, "token") }()
				read(t, conn, "token")
			})
		}
	}
}

// TestEvidenceIsOfTheReadThatCompletes holds that bytes of a TLS record or of a frame of HTTP/2 that came early prove
// nothing about the rest, which the last look did not find.
func TestEvidenceIsOfTheReadThatCompletes(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	answers := map[bool]string{
		false: ok(chunked) + chunkOf("####"),
		true:  frame(frameSettings, 0, 0, "") + frame(frameHeaders, 0x4, 1, "!") + frame(frameData, 0, 1, "####"),
	}
	for _, secure := range []bool{false, true} {
		for isHTTP2, answer := range answers {
			synctest.Test(t, func(t *testing.T) {
				conn, _, server := watched(t)
				under := net.Conn(conn)
				writes := net.Conn(&halves{Conn: server})
				if secure {
					client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // of this test
					ends := tls.Server(writes, certified.TLS.Clone())
					go func() { _ = ends.Handshake() }()
					if err := client.Handshake(); err != nil {
						t.Fatal(err)
					}
					under, writes = client, ends
				}
				start := time.Now()
				watch := &Watch{quiet: 800 * time.Millisecond}
				watch.Begin(conn, start)
				go func() {
					_, _ = io.WriteString(writes, answer)
				}()
				tracker := Track(under, conn, isHTTP2)
				for tracker.size < 4 {
					if _, err := tracker.Read(make([]byte, 4096)); err != nil {
						t.Fatal(err)
					}
				}
				got := tracker.Arrival(4)
				if got.At.Sub(start) != pause || got.NotBefore.Sub(start) != lastLook {
					t.Errorf("TLS %t, HTTP/2 %t: arrived between %v and %v",
						secure, isHTTP2, got.NotBefore.Sub(start), got.At.Sub(start))
				}
			})
		}
	}
}

// halves is a connection that makes two of each longer write: the last four bytes come after a pause. It leaves
// handshakes whole.
type halves struct{ net.Conn }

func (h *halves) Write(p []byte) (int, error) {
	const handshake, alert = 22, 21
	if p[0] == handshake || p[0] == alert || len(p) < 4 {
		return h.Conn.Write(p)
	}
	n, err := h.Conn.Write(p[:len(p)-4])
	if err != nil {
		return n, err
	}
	time.Sleep(pause)
	more, err := h.Conn.Write(p[len(p)-4:])
	return n + more, err
}

// momentsOf returns the moments of all looks in a wait, counted from its begin.
func momentsOf(s *lookSchedule, begin, end time.Time) (list []time.Duration) {
	for now := s.nextLook(begin); !now.IsZero() && now.Before(end); now = s.nextLook(now) {
		list = append(list, now.Sub(begin))
	}
	return list
}

// TestLooksAtAWait holds when a wait for an answer is looked at: not before it is expected, then so often that the last
// look is never older than 1/40 of the wait, and not often at all.
func TestLooksAtAWait(t *testing.T) {
	start := time.Now()
	for _, test := range []struct {
		quiet, wait time.Duration
		first       time.Duration
		n           int
	}{
		{1275 * time.Millisecond, 1500 * time.Millisecond, 1275 * time.Millisecond, 7},
		{50 * time.Millisecond, 1500 * time.Millisecond, 50 * time.Millisecond, 138},
		{0, 50 * time.Millisecond, time.Millisecond, 49},
		{time.Second, time.Second, 0, 0},
	} {
		var w lookSchedule
		w.begin(start, test.quiet)
		list := momentsOf(&w, start, start.Add(test.wait))
		if len(list) != test.n {
			t.Errorf("%+v: %d looks", test, len(list))
		}
		if test.n == 0 {
			continue
		}
		if list[0] != test.first {
			t.Errorf("%+v: the first look after %v", test, list[0])
		}
		for i, at := range append(list[1:], test.wait) {
			if step := at - list[i]; step > max(minLook, at/lookPart) {
				t.Errorf("%+v: no look for %v before %v", test, step, at)
			}
		}
	}
}

// TestLooksAtGaps holds that gaps are looked at once they are ten times as long as usual ones, of which a pause is
// none.
func TestLooksAtGaps(t *testing.T) {
	const ms = time.Millisecond
	eight := func(gap time.Duration) []time.Duration { return slices.Repeat([]time.Duration{gap}, 8) }
	for name, test := range map[string]struct {
		gaps  []time.Duration
		first time.Duration // look at the gap after them; 0: there is none
	}{
		"no gap is known":  {nil, 0},
		"one gap is known": {[]time.Duration{20 * ms}, 0},
		"two gaps":         {[]time.Duration{20 * ms, 21 * ms}, 200 * ms},
		"a pause":          {[]time.Duration{20 * ms, 20 * ms, 2000 * ms, 20 * ms}, 200 * ms},
		"two pauses":       {[]time.Duration{20 * ms, 2000 * ms, 3000 * ms, 20 * ms}, 20000 * ms},
		"pauses long ago":  {append([]time.Duration{900 * ms, 900 * ms}, eight(5*ms)...), 50 * ms},
		"a pause after pauses long ago": {
			slices.Concat(eight(900*ms), eight(5*ms), []time.Duration{2000 * ms, 5 * ms}), 50 * ms,
		},
		"bursts of four":          {slices.Repeat([]time.Duration{ms / 2, ms / 2, ms / 2, 48 * ms}, 2), 480 * ms},
		"frames faster than 1 ms": {eight(ms / 20), ms},
	} {
		var w lookSchedule
		now := time.Now()
		w.begin(now, time.Hour)
		w.readSome(now) // of a header: the first wait goes on
		w.answerBegan(now)
		for _, gap := range test.gaps {
			now = now.Add(gap)
			w.readSome(now)
		}
		first := time.Duration(0)
		if at := w.nextLook(now); !at.IsZero() {
			first = at.Sub(now)
		}
		if first != test.first {
			t.Errorf("%s: first look after %v, want %v", name, first, test.first)
		}
	}
}

// TestWhichRequestsAreWatched holds that the first requests to a target are watched, and later ones only after one that
// needed it: from
// a bit before the shortest of the last four waits on.
func TestWhichRequestsAreWatched(t *testing.T) {
	l := NewLookout()
	const ms = time.Millisecond
	next := func(quiet time.Duration) {
		t.Helper()
		watch := l.Watch()
		if watch == nil || watch.quiet != quiet {
			t.Errorf("%+v, want one that is quiet for %v", watch, quiet)
		}
	}
	unwatched := func() {
		t.Helper()
		if watch := l.Watch(); watch != nil {
			t.Errorf("%+v, want none", watch)
		}
	}
	next(50 * ms)
	for _, wait := range []time.Duration{2000 * ms, 1000 * ms, 1200 * ms} {
		l.Answered(wait, false)
	}
	for range 3 {
		next(850 * ms)
	}
	unwatched() // although none of them has ended
	l.Answered(1200*ms, true)
	next(850 * ms)
	for range recentWaits {
		l.Answered(1200*ms, false)
	}
	for range 15 {
		next(1020 * ms) // the 1,000 ms are forgotten
	}
	unwatched()
}
