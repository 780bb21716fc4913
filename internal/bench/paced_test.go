//go:build linux

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The benchmark of streams asks a server in a process of its own: this binary,
// which runs as one where its environment has a pace.
const paceVariable = "PROBER_TEST_PACE"

// A pace is how a paced server answers.
type pace struct {
	gap    time.Duration // between two tokens of an answer
	parts  int           // of the gap, at which some of the clients get their token; 1: all together
	tokens int           // of an answer
}

func (p pace) String() string { return fmt.Sprintf("%d %d %d", p.gap, p.parts, p.tokens) }

func parsePace(text string) (p pace, err error) {
	var gap int64
	_, err = fmt.Sscan(text, &gap, &p.parts, &p.tokens)
	p.gap = time.Duration(gap)
	return p, err
}

func TestMain(m *testing.M) {
	if text := os.Getenv(paceVariable); text != "" {
		p, err := parsePace(text)
		if err == nil {
			err = servePaced(p, os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A paced server writes ready-made frames to all its clients by the clock. One
// goroutine does, so that it takes little of the machine that it shares with the
// client. A part of the clients is served at each tick: all of them, as engines do
// that decode a batch in one step, or some after the others.
type paced struct {
	tick   time.Duration
	parts  [][]*paceling // each is served at one tick of so many
	joined chan *paceling
	frames [][]byte
	late   []time.Duration // of each write
}

// A paceling is one answer under way.
type paceling struct {
	conn net.Conn
	sent int // frames
	done chan struct{}
}

// A pacedReport is what a paced server tells at its end.
type pacedReport struct {
	Frames int
	Late   time.Duration // p99 of all writes
	CPU    time.Duration
}

// servePaced serves until in ends. It tells its address in the first line of out,
// and its report in the second.
func servePaced(at pace, in io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p := &paced{
		tick: at.gap / time.Duration(at.parts), parts: make([][]*paceling, at.parts),
		joined: make(chan *paceling, 1<<16), frames: vLLMFrames(at.tokens),
	}
	fmt.Fprintln(out, listener.Addr())
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { p.run(stop) })
	go p.accept(listener)
	_, _ = io.Copy(io.Discard, in)
	close(stop)
	running.Wait()
	return json.NewEncoder(out).Encode(pacedReport{Frames: len(p.late), Late: p99(p.late), CPU: processorTime()})
}

func (p *paced) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go p.serve(conn)
	}
}

// serve reads the requests of one connection, and lets the pacer answer.
func (p *paced) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n")
		answer := &paceling{conn: conn, done: make(chan struct{})}
		p.joined <- answer
		<-answer.done
	}
}

// run writes what is due at each tick of an absolute schedule.
func (p *paced) run(stop <-chan struct{}) {
	epoch, joined := time.Now(), 0
	for n := 1; ; n++ {
		due := epoch.Add(time.Duration(n) * p.tick)
		if wait := time.Until(due); wait > 0 {
			spec := syscall.NsecToTimespec(wait.Nanoseconds()) // the runtime's own timers are a millisecond coarse
			_ = syscall.Nanosleep(&spec, nil)
		}
		for range len(p.joined) {
			p.parts[joined%len(p.parts)] = append(p.parts[joined%len(p.parts)], <-p.joined)
			joined++
		}
		part := &p.parts[n%len(p.parts)]
		*part = slices.DeleteFunc(*part, func(a *paceling) bool { return p.write(a, due) })
		select {
		case <-stop:
			return
		default:
		}
	}
}

// write sends the next frame of an answer, and reports whether it was the last.
func (p *paced) write(a *paceling, due time.Time) (last bool) {
	p.late = append(p.late, time.Since(due))
	_, err := a.conn.Write(p.frames[a.sent])
	a.sent++
	if last = err != nil || a.sent == len(p.frames); last {
		close(a.done)
	}
	return last
}

// vLLMFrames is an answer as vLLM spells it when it is asked for continuous
// usage, in HTTP chunks: one a token. What follows the last token goes with it.
func vLLMFrames(tokens int) [][]byte {
	const head = `data: {"id":"chatcmpl-0a1b2c3d4e5f60718293a4b5c6d7e8f9","object":"chat.completion.chunk","created":1767225600,"model":"m","choices":[`
	usage := func(n int) string {
		return fmt.Sprintf(`],"usage":{"prompt_tokens":80,"total_tokens":%d,"completion_tokens":%d}}`+"\n\n", 80+n, n)
	}
	var frames [][]byte
	for n := 1; n <= tokens; n++ {
		reason := "null"
		if n == tokens {
			reason = `"length"`
		}
		text := chunked(head + `{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":` + reason + `,"token_ids":null}` + usage(n))
		if n == tokens {
			text += chunked(head+usage(n)) + chunked("data: [DONE]\n\n") + chunked("")
		}
		frames = append(frames, []byte(text))
	}
	return frames
}

func chunked(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// startPaced starts a paced server. finish ends it.
func startPaced(b *testing.B, at pace) (address string, finish func() pacedReport) {
	b.Helper()
	server := exec.CommandContext(b.Context(), os.Args[0])
	server.Env = append(os.Environ(), paceVariable+"="+at.String())
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	pipe, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	line, err := out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line), func() (report pacedReport) {
		_ = in.Close()
		if err := json.NewDecoder(out).Decode(&report); err != nil {
			b.Fatal(err)
		}
		if err := server.Wait(); err != nil {
			b.Fatal(err)
		}
		return report
	}
}

// processorTime is what this process has taken of the processors so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // never fails for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
