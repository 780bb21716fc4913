package sim

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// chatMany asks for 200 tokens.
var chatMany = strings.Replace(chatFour, `"max_tokens":4`, `"max_tokens":200`, 1)

// busy is a server in real time, on a network without buffers, on which so many requests seem to be under way that its
// streams are paced.
type busy struct {
	sim      *Server
	listener *Listener
	client   *http.Client
	ended    chan string // header X-Name of each request that was handled
}

func newBusy(t *testing.T, c Config) *busy {
	t.Helper()
	r := &busy{sim: New(c), listener: NewListener(), ended: make(chan string, 10)}
	r.sim.under.Add(few)
	server := &http.Server{ConnContext: ConnContext, Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		defer func() { r.ended <- q.Header.Get("X-Name") }()
		r.sim.ServeHTTP(w, q)
	})}
	served := make(chan struct{})
	go func() { _ = server.Serve(Noted(r.listener)); close(served) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return r.listener.Dial(ctx) }}
	r.client = &http.Client{Transport: transport}
	t.Cleanup(func() { transport.CloseIdleConnections(); r.sim.Close(); _ = server.Close(); <-served; r.sim.Wait() })
	return r
}

// ask sends a request.
func (r *busy) ask(ctx context.Context, t *testing.T, name string) *http.Request {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sim/v1/chat/completions", strings.NewReader(chatMany))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X-Name", name)
	return q
}

// begin sends a request and returns its response when it has its headers.
func (r *busy) begin(ctx context.Context, t *testing.T, name string) *http.Response {
	t.Helper()
	resp, err := r.client.Do(r.ask(ctx, t, name))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

var created = regexp.MustCompile(`"created":\d+`)

// text reads a response to its end. The moment of the answer is taken out of it.
func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return created.ReplaceAllString(string(body), "")
}

// paces is how many threads the pacer has had.
func (r *busy) paces() uint64 {
	r.sim.pacer.mu.Lock()
	defer r.sim.pacer.mu.Unlock()
	return r.sim.pacer.run
}

// TestPacedStreamsAreTheSame holds what a paced stream sends and logs against one that is not paced.
func TestPacedStreamsAreTheSame(t *testing.T) {
	for _, fault := range []string{"", "itl=1.5", "tokens_per_frame=3"} {
		run := func(precise bool) (said string, list []logged, paces uint64) {
			var out bytes.Buffer
			log := NewWriteLog(&out)
			r := newBusy(t, Config{Precise: precise, Log: log})
			(&rig{sim: r.sim}).inject(t, fault)
			said = text(t, r.begin(t.Context(), t, ""))
			r.sim.Close()
			r.sim.Wait()
			return said, readLog(t, log, &out), r.paces()
		}
		want, wantList, none := run(false)
		got, list, paces := run(true)
		if none != 0 || (paces == 0) != (fault == "tokens_per_frame=3") {
			t.Errorf("%q: paced by %d threads and by %d, want none and some", fault, none, paces)
		}
		if got != want || strings.Count(got, "completion_tokens") < 60 {
			t.Errorf("%q: paced streams say\n%s\nwant\n%s", fault, got, want)
		}
		if !slices.EqualFunc(list, wantList, func(a, b logged) bool {
			return a.frame == b.frame && a.frames == b.frames && a.due-list[0].due == b.due-wantList[0].due
		}) {
			t.Errorf("%q: the log of a paced stream is %+v, want %+v", fault, list, wantList)
		}
		for _, l := range list {
			if l.before < l.due || l.after < l.before {
				t.Errorf("%q: frame %d due at %d, written from %d to %d", fault, l.frame, l.due, l.before, l.after)
			}
		}
	}
}

// TestAClientThatLeavesAPacer holds that its handler ends, also long before its next token, and that others are not hurt.
func TestAClientThatLeavesAPacer(t *testing.T) {
	for _, wait := range []time.Duration{time.Millisecond, time.Hour} {
		p := fast()
		p.TTFT, p.TPOT = 0, wait
		r := newBusy(t, Config{Precise: true, Profile: p})
		ctx, leave := context.WithCancel(t.Context())
		gone := r.begin(ctx, t, "gone")
		defer gone.Body.Close()
		if _, err := bufio.NewReader(gone.Body).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		stays := r.begin(t.Context(), t, "stays")
		leave()
		if name := <-r.ended; name != "gone" {
			t.Errorf("%q ended first", name)
		}
		if wait == time.Millisecond {
			if n := strings.Count(text(t, stays), "\n\n"); n != 203 {
				t.Errorf("%d frames, want a role, 200 tokens, a usage and an end", n)
			}
		}
		stays.Body.Close()
		if sent := r.sim.Sent(); sent[0].Failed != "canceled" || sent[0].Output == 0 {
			t.Errorf("written down: %d tokens, %q", sent[0].Output, sent[0].Failed)
		}
	}
}

// TestAClientThatStopsReadingHoldsUpNoOther holds that the streams of others end while its Write hangs, and that it gets
// all of its own when it reads again.
func TestAClientThatStopsReadingHoldsUpNoOther(t *testing.T) {
	r := newBusy(t, Config{Precise: true})
	q, conn := r.unread(t)
	slow, err := http.ReadResponse(bufio.NewReader(conn), q) // no more than the headers: these are a Write
	if err != nil {
		t.Fatal(err)
	}
	var others []*http.Response
	for range 3 {
		others = append(others, r.begin(t.Context(), t, "other"))
	}
	heard := make(chan string)
	for _, o := range others {
		go func() { heard <- text(t, o) }()
	}
	for range others {
		if n := strings.Count(<-heard, "\n\n"); n != 203 {
			t.Errorf("another has %d frames, want 203", n)
		}
		if name := <-r.ended; name != "other" {
			t.Errorf("%q ended", name)
		}
	}
	if n := r.paces(); n < 2 {
		t.Errorf("the streams had %d threads, want one for those that do not hang", n)
	}
	if n := strings.Count(text(t, slow), "\n\n"); n != 203 {
		t.Errorf("%d frames after the pause, want 203", n)
	}
}

// unread sends a request whose answer is not read until the caller reads it.
func (r *busy) unread(t *testing.T) (q *http.Request, conn net.Conn) {
	t.Helper()
	conn, err := r.listener.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	q = r.ask(t.Context(), t, "slow")
	if err := q.Write(conn); err != nil {
		t.Fatal(err)
	}
	return q, conn
}

// TestCloseEndsThePacer holds that no thread of the pacer outlives Close: neither one that hangs in the write to a client
// that does not read, nor one whose streams wait for their tokens, nor the one that watches them.
func TestCloseEndsThePacer(t *testing.T) {
	r := newBusy(t, Config{Precise: true})
	q, conn := r.unread(t)
	if _, err := http.ReadResponse(bufio.NewReader(conn), q); err != nil {
		t.Fatal(err)
	}
	text(t, r.begin(t.Context(), t, "other")) // to its end: the slow one has hung since
	waits := r.begin(t.Context(), t, "waits")
	defer waits.Body.Close()

	r.sim.Close()

	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, thread := range []string{"(*pacer).pace", "(*pacer).watch"} {
		if bytes.Contains(stacks, []byte(thread)) {
			t.Fatalf("%s runs after Close:\n%s", thread, stacks)
		}
	}
	for range 3 { // every handler ends by itself, also the one whose client never reads
		<-r.ended
	}
}
