package probe

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// A step of a logging server: when one write of its answer began and when all of it had been received by the client's
// kernel and read by the client.
type written struct{ before, after time.Time }

// A logging server sends frames in lockstep with its client: each write waits until the one before has been read, so
// that no two share a read, and it writes down when it wrote the last byte of each token frame.
type logging struct {
	first  int // bytes of padding in the first token frame
	frames int
	single bool // frames are written byte by byte

	body    int64 // bytes of all answers on the connection so far
	mu      sync.Mutex
	client  net.Conn // that was dialled last
	written []written
}

// dial keeps the client's end.
func (l *logging) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.client = conn
	return conn, err
}

func (l *logging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	l.send(w, r, data(role), false)
	for n := range l.frames {
		frame := data(counted(n + 1))
		if n == 0 && l.first > 0 {
			frame = data(fmt.Sprintf(`{"padding":%q,%s`, strings.Repeat("x", l.first), counted(1)[1:]))
		}
		l.send(w, r, frame, true)
	}
	l.send(w, r, data(limit, done), false)
}

// send writes a frame in its parts, and writes the last of them down.
func (l *logging) send(w http.ResponseWriter, r *http.Request, frame string, note bool) {
	size := len(frame)
	if l.single && note && size < 4096 {
		size = 1
	}
	for len(frame) > 0 {
		part := frame[:min(size, len(frame))]
		frame = frame[len(part):]
		before := time.Now()
		_, _ = w.Write([]byte(part))
		w.(http.Flusher).Flush()
		l.body += int64(len(part))
		l.taken(r)
		if len(frame) == 0 && note {
			l.mu.Lock()
			l.written = append(l.written, written{before, time.Now()})
			l.mu.Unlock()
		}
	}
}

// serverConn is the key of a request's connection in its context.
type serverConn struct{}

// A counting connection, above TLS, knows how many bytes of bodies were written to its socket in HTTP/2, whose server
// writes them a little after Flush, and other frames between them.
type counting struct {
	net.Conn
	header []byte // of the current frame, up to 9 bytes
	left   int    // bytes of its payload to come
	data   atomic.Int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	for p = p[:n]; len(p) > 0; {
		if c.left > 0 {
			k := min(c.left, len(p))
			if c.left, p = c.left-k, p[k:]; c.header[3] == 0 { // DATA
				c.data.Add(int64(k))
			}
			continue
		}
		if len(c.header) == 9 {
			c.header = nil
		}
		k := min(9-len(c.header), len(p))
		if c.header, p = append(c.header, p[:k]...), p[k:]; len(c.header) == 9 {
			c.left = int(c.header[0])<<16 | int(c.header[1])<<8 | int(c.header[2])
		}
	}
	return n, err
}

// NetConn returns the socket.
func (c *counting) NetConn() net.Conn {
	if secure, ok := c.Conn.(*tls.Conn); ok {
		return secure.NetConn()
	}
	return c.Conn
}

// A countingListener accepts counting connections.
type countingListener struct{ net.Listener }

func (l countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &counting{Conn: conn}, err
}

// taken waits until the client has read all that was written of the answer. It looks now and then instead of all the
// time, which would keep the processor from those it waits for.
func (l *logging) taken(r *http.Request) {
	conn := r.Context().Value(serverConn{}).(*counting)
	l.mu.Lock()
	client := l.client
	l.mu.Unlock()
	for r.Context().Err() == nil && (r.ProtoMajor == 2 && conn.data.Load() < l.body ||
		queued(conn.NetConn(), syscall.TIOCOUTQ) > 0 || queued(client, syscall.TIOCINQ) > 0) {
		time.Sleep(20 * time.Microsecond)
	}
}

// queued is how many bytes lie in a queue of a socket.
func queued(c net.Conn, queue uintptr) (n int32) {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, queue, uintptr(unsafe.Pointer(&n)))
	})
	return n
}

// TestArrivalsAreThoseOfTheCompletingRead holds, through all that lies between a socket and a frame, that the arrival
// of each token frame lies within the write of its last byte. No time is tolerated: on loopback the kernel timestamps
// bytes while they are written.
func TestArrivalsAreThoseOfTheCompletingRead(t *testing.T) {
	stream.EnableTimestamps()
	awaitKernelTimestamps(t)
	for _, secure := range []bool{false, true} {
		for _, two := range []bool{false, true} {
			for name, server := range map[string]*logging{
				"frames":           {frames: 20},
				"byte by byte":     {frames: 3, single: true},
				"1.5 MB at first":  {frames: 5, first: 1_500_000},
				"both":             {frames: 2, first: 1_500_000, single: true},
				"just over a read": {frames: 5, first: 4096},
			} {
				t.Run(fmt.Sprintf("TLS %t, HTTP/2 %t, %s", secure, two, name), func(t *testing.T) {
					testArrivals(t, server, secure, two)
				})
			}
		}
	}
}

// awaitKernelTimestamps returns once the kernel timestamps what it receives: the first socket of a machine that asks
// for it may be served a little later.
func awaitKernelTimestamps(t *testing.T) {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	defer listener.Close()
	dialled := must(net.Dial("tcp", listener.Addr().String()))
	defer dialled.Close()
	server := must(listener.Accept())
	defer server.Close()
	client := stream.NewConn(dialled)
	for !client.Last().Kernel {
		must(server.Write([]byte("x")))
		must(client.Read(make([]byte, 1)))
	}
}

func testArrivals(t *testing.T, l *logging, secure, two bool) {
	server, route := httptest.NewUnstartedServer(l), Route{Dial: l.dial, Reuse: true, HTTP2: two}
	scheme := "http://"
	if secure {
		certified := httptest.NewTLSServer(nil)
		defer certified.Close()
		config := certified.TLS.Clone()
		config.NextProtos = []string{"h2", "http/1.1"}
		server.Listener = tls.NewListener(server.Listener, config)
		scheme, route.TLS = "https://", trusting(certified)
	}
	server.Listener = countingListener{server.Listener}
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, serverConn{}, c)
	}
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(!two)
	server.Config.Protocols.SetUnencryptedHTTP2(two) // TLS, if any, is in the listener
	server.Start()
	target := newTarget(nil)
	target.URL, target.Transport = scheme+server.Listener.Addr().String(), NewTransport(route)
	t.Cleanup(func() { target.Transport.Close(); server.Close() })
	for n := range 2 {
		l.written = nil
		r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: l.frames})
		if r.Outcome != OK || r.Phases.Reused != (n > 0) {
			t.Fatalf("probe %d: %s: %v, reused %t", n, r.Outcome, r.Err, r.Phases.Reused)
		}
		checkArrivals(t, r, l.written)
	}
}

func checkArrivals(t *testing.T, r *Result, log []written) {
	t.Helper()
	if r.Stamp != ByKernel || r.Coalesced() != 0 || len(r.Tokens) != len(log) {
		t.Fatalf("%d frames with timestamps of the %s, %d coalesced; %d written",
			len(r.Tokens), r.Stamp, r.Coalesced(), len(log))
	}
	for i, a := range r.Tokens {
		if !a.Kernel { // of a megabyte some packets may come out of order, and then the read tells
			continue
		}
		if at := r.Start.Add(a.At); at.Before(log[i].before) || at.After(log[i].after) {
			t.Errorf("frame %d: %v after its last write began, which took %v",
				i, at.Sub(log[i].before), log[i].after.Sub(log[i].before))
		}
	}
}
