package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A tape is what a server sends, and where in it the bytes of the last answer's body lie.
type tape struct {
	sent   []byte
	body   []int // index in sent of each byte of the body
	header int   // index of the last byte of the header
}

func (p *tape) raw(text string) *tape {
	p.sent = append(p.sent, text...)
	return p
}

// answer begins an answer: its header.
func (p *tape) answer(header ...string) *tape {
	p.raw(strings.Join(header, "\r\n") + "\r\n\r\n")
	p.body, p.header = nil, len(p.sent)-1
	return p
}

func (p *tape) content(text string) *tape {
	for i := range text {
		p.body = append(p.body, len(p.sent)+i)
	}
	return p.raw(text)
}

func (p *tape) chunk(text string) *tape {
	return p.raw(fmt.Sprintf("%x\r\n", len(text))).content(text).raw("\r\n")
}

// frame is a frame of HTTP/2.
func (p *tape) frame(kind, flags byte, stream uint32, payload string) *tape {
	n := len(payload)
	p.sent = append(p.sent, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	p.sent = binary.BigEndian.AppendUint32(p.sent, stream)
	return p.raw(payload)
}

// headers is a frame that begins, or ends, an answer of HTTP/2.
func (p *tape) headers(stream uint32) *tape {
	p.frame(frameHeaders, 0x4, stream, "compressed")
	p.body, p.header = nil, len(p.sent)-1
	return p
}

// data is a frame of the body, with padding if it is told.
func (p *tape) data(stream uint32, text string, padding int) *tape {
	if padding == 0 {
		p.frame(frameData, 0, stream, "")
	} else {
		p.frame(frameData, flagPadded, stream, string(rune(padding)))
	}
	head := len(p.sent)
	if padding > 0 {
		head--
	}
	n := len(text) + padding + len(p.sent) - head
	p.sent[head-9], p.sent[head-8], p.sent[head-7] = byte(n>>16), byte(n>>8), byte(n)
	return p.content(text).raw(strings.Repeat("\x00", padding))
}

const chunked = "Transfer-Encoding: chunked"

// A taped answer is of HTTP/1.1, or of HTTP/2.
type taped struct {
	*tape
	two bool
}

// tapes are answers that are understood.
func tapes() map[string]taped {
	tape1 := func() *tape { return &tape{} }
	settled := func() *tape { return tape1().frame(frameSettings, 0, 0, "settings") }
	all := map[string]taped{}
	one := func(name string, p *tape) { all[name] = taped{p, false} }
	two := func(name string, p *tape) { all[name] = taped{p, true} }
	one("chunks", tape1().answer("HTTP/1.1 200 OK", "Server: uvicorn", chunked).chunk("data: a\n\n").chunk("data: b\n\n").raw("0\r\n\r\n"))
	one("chunks that are no frames", tape1().answer("HTTP/1.1 200 OK", "transfer-encoding:  Chunked").chunk("data: a\n\ndata:").chunk(" b\n").chunk("\ndata: c\n\n"))
	one("a chunk of many bytes", tape1().answer("HTTP/1.1 200 OK", chunked).chunk(strings.Repeat("x", 0x1a3)))
	one("chunks with extensions and a trailer", tape1().answer("HTTP/1.1 200 OK", chunked).raw("3;a=b\r\n").content("abc").raw("\r\n0\r\nX: y\r\n\r\n"))
	one("a known length", tape1().answer("HTTP/1.1 200 OK", "Content-Length: 6").content("abcdef"))
	one("a hint before", tape1().answer("HTTP/1.1 103 Early Hints", "Link: x").answer("HTTP/1.1 200 OK", chunked).chunk("abc"))
	one("a long header", tape1().answer("HTTP/1.1 200 OK", "X: "+strings.Repeat("y", 1000), chunked).chunk("abc"))
	one("lines ended by LF", tape1().raw("HTTP/1.1 200 OK\n"+chunked+"\n").raw("\n").after().chunk("abc"))
	one("the next answer", tape1().answer("HTTP/1.1 200 OK", chunked).chunk("first").raw("0\r\n\r\n").answer("HTTP/1.1 200 OK", chunked).chunk("ab").chunk("c"))
	one("after one that cannot have the body it tells of", tape1().answer("HTTP/1.1 304 Not Modified", "Content-Length: 5").answer("HTTP/1.1 204 No Content", chunked).answer("HTTP/1.1 200 OK", chunked).chunk("abc"))
	one("after one without body", tape1().answer("HTTP/1.1 204 No Content").answer("HTTP/1.1 200 OK", "Content-Length: 0").answer("HTTP/1.1 200 OK", chunked).chunk("abc"))
	two("HTTP/2", settled().headers(1).data(1, "data: a\n\n", 0).frame(8, 0, 1, "wind").data(1, "data: b\n\n", 0))
	two("padding", settled().headers(1).data(1, "abc", 7).data(1, "", 2).data(1, "def", 1))
	two("an empty frame", settled().headers(1).data(1, "", 0).data(1, "abc", 0))
	two("the next stream", settled().headers(1).data(1, "first", 0).headers(3).data(3, "abc", 0))
	two("what is left of the stream before", settled().headers(1).data(1, "first", 0).headers(3).data(3, "ab", 0).stray("old").data(3, "c", 0))
	return all
}

// after notes that the header ends here.
func (p *tape) after() *tape {
	p.body, p.header = nil, len(p.sent)-1
	return p
}

// stray is data of a stream that is over.
func (p *tape) stray(text string) *tape {
	body := p.body
	p.data(1, text, 0)
	p.body = body
	return p
}

// TestTrackerTellsTheReadOfEachByte cuts what a server sends at every place, and into
// single bytes: of each byte of the body the tracker knows with which read it came.
func TestTrackerTellsTheReadOfEachByte(t *testing.T) {
	for name, tape := range tapes() {
		t.Run(name, func(t *testing.T) {
			for cut := range tape.sent {
				check(t, tape.tape, tape.two, tape.sent[:cut], tape.sent[cut:])
			}
			var single [][]byte
			for i := range tape.sent {
				single = append(single, tape.sent[i:i+1])
			}
			check(t, tape.tape, tape.two, single...)
		})
	}
}

// check tracks a tape in parts.
func check(t *testing.T, tape *tape, two bool, parts ...[]byte) {
	t.Helper()
	f := Track(nil, &Conn{}, two)
	of := make([]uint64, 0, len(tape.sent)) // the read of each byte
	for i, part := range parts {
		if len(part) == 0 {
			continue
		}
		f.note(part, Stamp{Read: uint64(i + 1)})
		for range part {
			of = append(of, uint64(i+1))
		}
	}
	if !f.Knows() {
		t.Fatal("not understood")
	}
	if got := f.Header().Read; got != of[tape.header] {
		t.Errorf("header of read %d, want %d", got, of[tape.header])
	}
	for i, at := range tape.body {
		if got := f.Arrival(int64(i + 1)).Read; got != of[at] {
			t.Errorf("byte %d of the body of read %d, want %d", i, got, of[at])
		}
	}
}

// TestTrackerKnowsWhatItDoesNotUnderstand lists what cannot be tracked: there the last read is the arrival.
func TestTrackerKnowsWhatItDoesNotUnderstand(t *testing.T) {
	for name, text := range map[string]string{
		"a body until the end":    "HTTP/1.1 200 OK\r\nServer: x\r\n\r\ndata: a\n\n",
		"another protocol":        "SSH-2.0-OpenSSH\r\n",
		"a header without end":    "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 1<<21),
		"a status that is none":   "HTTP/1.1 OK\r\n\r\n",
		"TLS":                     "\x16\x03\x01\x02\x00\x01\n",
		"TLS after CONNECT":       "HTTP/1.1 200 Connection established\r\nContent-Length: 0\r\n\r\n\x16\x03\x01\x02\x00\n",
		"a length that is none":   "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
		"a chunk without size":    "HTTP/1.1 200 OK\r\n" + chunked + "\r\n\r\nxyz\r\n",
		"a chunk longer than all": "HTTP/1.1 200 OK\r\n" + chunked + "\r\n\r\n1\r\nab\r\n",
		"a switch of protocols":   "HTTP/1.1 101 Switching Protocols\r\n\r\n",
	} {
		notUnderstood(t, name, text, false)
	}
	for name, text := range map[string]string{
		"HTTP/1.1 where HTTP/2 was spoken": "HTTP/1.1 200 OK\r\n\r\n",
		"a proxy's greeting":               "\x05\x00\x05\x00\x00\x01\x00\x00\x00",
		"a frame that is too long":         "\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x40\x01\x00\x00\x00\x00\x00\x01",
	} {
		notUnderstood(t, name, text, true)
	}
}

func notUnderstood(t *testing.T, name, text string, two bool) {
	t.Helper()
	f := Track(nil, &Conn{last: Stamp{Read: 9}}, two)
	f.note([]byte(text), Stamp{Read: 1})
	f.note([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"), Stamp{Read: 2})
	if f.Knows() || f.Header().Read != 9 {
		t.Errorf("%s: understood", name)
	}
}

// TestTrackerForgetsWhatIsNoFrame holds that a server that sends comments for ever, a byte a
// packet, makes nobody keep their arrivals.
func TestTrackerForgetsWhatIsNoFrame(t *testing.T) {
	client := &replay{text: []byte("HTTP/1.1 200 OK\r\n" + chunked + "\r\n\r\n")}
	f := Track(client, &Conn{}, false)
	_, _ = f.Read(make([]byte, 64))
	client.text = []byte("1\r\n:\r\n")
	comments := readerFunc(func(p []byte) (int, error) {
		_, _ = f.Read(make([]byte, 64))
		return copy(p, ":"), nil
	})
	s := NewSSE(comments, f.Arrival, 4096)
	for range 10_000 {
		s.fill()
	}
	if cap(f.arrivals) > 256 {
		t.Errorf("%d arrivals are kept", cap(f.arrivals))
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestTrackerKeepsLittle holds that what was asked for is forgotten.
func TestTrackerKeepsLittle(t *testing.T) {
	f := Track(nil, &Conn{}, false)
	f.note([]byte("HTTP/1.1 200 OK\r\n"+chunked+"\r\n\r\n"), Stamp{})
	for n := range 100_000 {
		f.note([]byte("1\r\nx\r\n"), Stamp{Read: uint64(n)})
		if got := f.Arrival(int64(n) + 1).Read; got != uint64(n) {
			t.Fatalf("byte %d of read %d", n, got)
		}
	}
	if cap(f.arrivals) > 256 {
		t.Errorf("%d arrivals are kept", cap(f.arrivals))
	}
}

// FuzzTracker holds that the way bytes are cut changes nothing, and that what net/http
// reads as a body has as many bytes as the tracker counts.
func FuzzTracker(f *testing.F) {
	for _, tape := range tapes() {
		f.Add(tape.sent, uint64(1), tape.two)
	}
	f.Fuzz(func(t *testing.T, sent []byte, seed uint64, two bool) {
		whole, cut := Track(nil, &Conn{}, two), Track(nil, &Conn{}, two)
		whole.note(sent, Stamp{})
		random := rand.New(rand.NewPCG(seed, 0))
		for rest := sent; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			cut.note(rest[:n], Stamp{})
			rest = rest[n:]
		}
		if whole.lost != cut.lost || whole.size != cut.size {
			t.Errorf("whole: %d bytes, lost %t; cut: %d, %t", whole.size, whole.lost, cut.size, cut.lost)
		}
		if size, ok := bodySize(sent); ok && !two && !whole.lost && whole.size != size {
			t.Errorf("%d bytes, by net/http %d", whole.size, size)
		}
	})
}

// bodySize is the size of the body that net/http finds; ok is false if it finds none that is whole, or
// more than one answer.
func bodySize(sent []byte) (size int64, ok bool) {
	reader := bufio.NewReader(bytes.NewReader(sent))
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode < 200 {
		return 0, false
	}
	size, err = io.Copy(io.Discard, answer.Body)
	return size, err == nil && reader.Buffered() == 0
}

// BenchmarkTracker is what tracking costs a chunk.
func BenchmarkTracker(b *testing.B) {
	chunk := fmt.Appendf(nil, "%x\r\n%s\r\n", len(chunkFrame), chunkFrame)
	client := &replay{text: []byte("HTTP/1.1 200 OK\r\n" + chunked + "\r\n\r\n")}
	f := Track(client, &Conn{}, false)
	buf := make([]byte, 4096)
	_, _ = f.Read(buf)
	client.text = chunk
	b.ReportAllocs()
	for end := int64(0); b.Loop(); {
		if _, err := f.Read(buf); err != nil {
			b.Fatal(err)
		}
		end += int64(len(chunkFrame))
		f.Arrival(end)
	}
	if !f.Knows() {
		b.Error("not understood")
	}
}

// replay is a connection on which the same bytes arrive for ever.
type replay struct {
	net.Conn
	text []byte
}

func (r *replay) Read(p []byte) (int, error) {
	return copy(p, r.text), nil
}
