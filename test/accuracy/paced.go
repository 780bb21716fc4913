package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// beats is how many times in a gap tokens are due, each for a part of the streams at
// once, as an engine's steps do it.
const beats = 4

// A paced server writes ready-made frames to all its clients by the clock, and notes
// when. One goroutine does, so that it takes little of the machine that it shares
// with the client.
type paced struct {
	gap    time.Duration // between two tokens of an answer
	first  time.Duration // from a request to its first token, at least
	whole  bool          // an answer is one write
	frames [][]byte      // one a token, with what goes before and after it
	joined chan *answer
	parts  [beats][]*answer // each is served at one of that many beats
	log    writes
	origin time.Time
}

// An answer is one that is under way.
type answer struct {
	conn  net.Conn
	trace string
	first time.Time // earliest moment of its first token
	sent  []written
	done  chan struct{}
}

// writes are the token frames that the server wrote, in order, by trace id.
type writes map[string][]written

// A written is one token frame, in Unix nanoseconds of a clock that is never set:
// when it was due, and the moments before and after its Write.
type written struct{ Due, Before, After int64 }

// servePaced serves until in ends. It writes its address in the first line of out, and at the end its log.
func servePaced(j job, in io.Reader, out io.Writer) error {
	p := &paced{
		gap: j.Gap, first: cmp.Or(j.First, first), whole: j.Shape == oneWrite,
		frames: vllmFrames(j.Tokens), joined: make(chan *answer, 1<<16), log: writes{}, origin: time.Now(),
	}
	listener, err := listenUnpaced(j.Segment)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, listener.Addr())
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { p.run(stop) })
	go func() { _ = http.Serve(listener, p) }() //nolint:gosec // its clients are ours
	_, _ = io.Copy(io.Discard, in)
	close(stop)
	running.Wait()
	return gob.NewEncoder(out).Encode(p.log)
}

// listenUnpaced listens with a congestion control that sends at once. BBR, where it is the default, lets a timer send
// what was written, which takes many milliseconds on a busy machine: the log would not say when bytes left. A packet
// has at most segment bytes, unless that is 0.
func listenUnpaced(segment int) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		asked := raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CONGESTION, "reno")
			if err == nil && segment > 0 {
				err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, segment)
			}
		})
		return errors.Join(asked, err)
	}}
	return config.Listen(context.Background(), "tcp", "127.0.0.1:0")
}

// ServeHTTP answers one request of a connection and closes it.
func (p *paced) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	a := &answer{conn: conn, first: time.Now().Add(p.first), done: make(chan struct{}),
		sent: make([]written, 0, len(p.frames))}
	if parts := strings.Split(request.Header.Get("Traceparent"), "-"); len(parts) == 4 {
		a.trace = parts[1]
	}
	_, _ = io.WriteString(conn, okHead)
	p.joined <- a
	<-a.done
}

// run writes what is due at each beat of an absolute schedule.
func (p *paced) run(stop <-chan struct{}) {
	runtime.LockOSThread()
	for n := 1; ; n++ {
		due := p.origin.Add(time.Duration(n) * p.gap / beats)
		sleepUntil(due)
		part := &p.parts[n%beats]
		p.join(part, due)
		*part = slices.DeleteFunc(*part, func(a *answer) bool { return p.write(a, due) })
		select {
		case <-stop:
			return
		default:
		}
	}
}

// join adds the answers whose first token is due to the part of this beat.
func (p *paced) join(part *[]*answer, due time.Time) {
	for range len(p.joined) {
		if a := <-p.joined; a.first.After(due) {
			p.joined <- a
		} else {
			*part = append(*part, a)
		}
	}
}

// write sends the next token of an answer. done is true after the last.
func (p *paced) write(a *answer, due time.Time) (done bool) {
	frames := p.frames[len(a.sent):][:1]
	if p.whole {
		frames = p.frames
	}
	frame := bytes.Join(frames, nil)
	before := time.Now()
	_, err := a.conn.Write(frame)
	sent := written{p.unix(due), p.unix(before), p.unix(time.Now())}
	a.sent = append(a.sent, slices.Repeat([]written{sent}, len(frames))...)
	if done = err != nil || len(a.sent) == len(p.frames); done {
		p.log[a.trace] = a.sent
		close(a.done)
	}
	return done
}

func (p *paced) unix(at time.Time) int64 { return p.origin.UnixNano() + int64(at.Sub(p.origin)) }

// sleepUntil sleeps in the kernel: the runtime's own timers are a millisecond coarse.
func sleepUntil(at time.Time) {
	if wait := time.Until(at); wait > 0 {
		spec := syscall.NsecToTimespec(wait.Nanoseconds())
		_ = syscall.Nanosleep(&spec, nil)
	}
}

// vllmFrames returns an answer as vLLM sends it when it is asked for continuous usage, in
// HTTP chunks: one a token. The role goes with the first token, usage and the end with
// the last.
func vllmFrames(tokens int) [][]byte {
	const head = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,` +
		`"model":"` + model + `","choices":[`
	choice := func(delta, finish string) string {
		return `{"index":0,"delta":{` + delta + `},"logprobs":null,"finish_reason":` + finish + `}`
	}
	usage := func(n int) string {
		return fmt.Sprintf(`],"usage":{"prompt_tokens":80,"total_tokens":%d,"completion_tokens":%d}}`+"\n\n", 80+n, n)
	}
	var frames [][]byte
	for n := 1; n <= tokens; n++ {
		text, finish := "", "null"
		if n == 1 {
			text = chunked(head + choice(`"role":"assistant","content":""`, "null") + usage(0))
		}
		if n == tokens {
			finish = `"length"`
		}
		text += chunked(head + choice(`"content":" token"`, finish) + usage(n))
		if n == tokens {
			text += chunked(head+usage(n)) + chunked("data: [DONE]\n\n") + chunked("")
		}
		frames = append(frames, []byte(text))
	}
	return frames
}

// okHead begins each response.
const okHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n" +
	"Transfer-Encoding: chunked\r\n\r\n"

func chunked(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
