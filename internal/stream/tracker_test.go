package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const chunked = "Transfer-Encoding: chunked"

// ok returns the header of an answer of HTTP/1.1 with these fields.
func ok(fields ...string) string {
	return "HTTP/1.1 200 OK\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\n"
}

func chunkOf(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// frame returns a frame of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	return string(binary.BigEndian.AppendUint32(append(head, flags), stream)) + payload
}

// padded returns a frame of the body with padding.
func padded(text string, n int) string {
	return frame(frameData, flagPadded, 1, string(rune(n))+text+strings.Repeat("\x00", n))
}

// A tape is what a server sends on a connection. The bytes # are the body of its last answer, and nothing else. A
// header of HTTP/2 ends with !.
type tape struct {
	name    string
	isHTTP2 bool
	sent    string
}

// tapes returns what servers send, in either version of HTTP.
func tapes() []tape {
	head := func(stream uint32) string { return frame(frameHeaders, 0x4, stream, "compressed!") }
	data := func(stream uint32, text string) string { return frame(frameData, 0, stream, text) }
	begun := frame(frameSettings, 0, 0, "settings") + head(1)
	return []tape{
		{"chunks", false, ok("Server: uvicorn", chunked) + chunkOf("####") + chunkOf("##") + "0\r\n\r\n"},
		{"another case", false, ok("transfer-encoding:  Chunked") + chunkOf("###")},
		{"a chunk of many bytes", false, ok(chunked) + chunkOf(strings.Repeat("#", 0x1a3))},
		{"extensions and a trailer", false, ok(chunked) + "3;a=b\r\n###\r\n0\r\nX: y\r\n\r\n"},
		{"a known length", false, ok("Content-Length: 6") + "######"},
		{"a hint before", false, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok(chunked) + chunkOf("###")},
		{"a long header", false, ok("X: "+strings.Repeat("y", 1000), chunked) + chunkOf("###")},
		{"lines that end with LF", false, "HTTP/1.1 200 OK\n" + chunked + "\n\n" + chunkOf("###")},
		{"the next answer", false,
			ok(chunked) + chunkOf("first") + "0\r\n\r\n" + ok(chunked) + chunkOf("##") + chunkOf("#")},
		{"after answers without a body", false,
			"HTTP/1.1 204 No Content\r\n\r\n" + ok("Content-Length: 0") + ok(chunked) + chunkOf("###")},
		{"after answers that cannot have the body of their header", false,
			"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n" +
				"HTTP/1.1 204 No Content\r\n" + chunked + "\r\n\r\n" + ok(chunked) + chunkOf("###")},

		{"data", true, begun + data(1, "####") + frame(8, 0, 1, "wind") + data(1, "##")},
		{"padding", true, begun + padded("###", 7) + padded("", 2) + padded("###", 1)},
		{"a trailer", true, begun + data(1, "###") + frame(frameHeaders, 0x5, 1, "checksum")},
		{"an empty frame", true, begun + data(1, "") + data(1, "###")},
		{"the next stream", true, begun + data(1, "first") + head(3) + data(3, "###")},
		{"the rest of the stream before", true,
			begun + data(1, "first") + head(3) + data(3, "##") + data(1, "old") + data(3, "#")},
	}
}

// TestTrackerTellsTheReadOfEachByte cuts what a server sends at every place, and into single bytes: the tracker knows
// for each byte of the body with which read it came.
func TestTrackerTellsTheReadOfEachByte(t *testing.T) {
	for _, tape := range tapes() {
		t.Run(tape.name, func(t *testing.T) {
			for cut := range len(tape.sent) {
				tape.check(t, tape.sent[:cut], tape.sent[cut:])
			}
			tape.check(t, strings.Split(tape.sent, "")...)
		})
	}
}

// TestTrackerFollowsLongFrames holds that the longest frame that a server may send is understood.
func TestTrackerFollowsLongFrames(t *testing.T) {
	begun := frame(frameSettings, 0, 0, "settings") + frame(frameHeaders, 0x4, 1, "compressed!")
	long := frame(frameData, 0, 1, strings.Repeat("#", longestFrame))
	short := frame(frameData, 0, 1, "##")
	tape{"a long frame", true, begun + long + short}.check(t, begun, long, short)
}

// check tracks the tape in parts.
func (tape tape) check(t *testing.T, parts ...string) {
	t.Helper()
	tracker := Track(nil, &Conn{}, tape.isHTTP2)
	reads := make([]uint64, 0, len(tape.sent)) // the read of each byte
	for i, part := range parts {
		read := uint64(i + 1)
		tracker.note([]byte(part), Arrival{Read: read})
		reads = append(reads, slices.Repeat([]uint64{read}, len(part))...)
	}
	if !tracker.Understands() {
		t.Fatal("not understood")
	}
	before := tape.sent[:strings.Index(tape.sent, "#")]
	headerEnd := max(
		strings.LastIndex(before, "\n\r\n")+2,
		strings.LastIndex(before, "\n\n")+1,
		strings.LastIndex(before, "!"),
	)
	if got := tracker.Header().Read; got != reads[headerEnd] {
		t.Errorf("header of read %d, want %d", got, reads[headerEnd])
	}
	size := int64(0)
	for i, read := range reads {
		if tape.sent[i] != '#' {
			continue
		}
		size++
		if got := tracker.Arrival(size).Read; got != read {
			t.Errorf("byte %d of the body of read %d, want %d", size, got, read)
		}
	}
}

// TestTrackerKnowsWhatItDoesNotUnderstand holds what cannot be tracked: then the arrival is that of the last read.
func TestTrackerKnowsWhatItDoesNotUnderstand(t *testing.T) {
	for _, tape := range []tape{
		{"a body until the end of the connection", false, ok("Server: x") + "data: a\n\n"},
		{"another protocol", false, "SSH-2.0-OpenSSH\r\n"},
		{"a header without end", false, "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 1<<21)},
		{"a status without a number", false, "HTTP/1.1 OK\r\n\r\n"},
		{"TLS", false, "\x16\x03\x01\x02\x00\x01\n"},
		{"TLS after CONNECT", false, ok("Content-Length: 0") + "\x16\x03\x01\x02\x00\n"},
		{"a length without a number", false, ok("Content-Length: many")},
		{"a chunk without a size", false, ok(chunked) + "xyz\r\n"},
		{"a chunk that is longer than its size", false, ok(chunked) + "1\r\nab\r\n"},
		{"a chunk without a size after others", false, ok(chunked) + chunkOf("#") + "xyz\r\n"},
		{"a switch of protocols", false, "HTTP/1.1 101 Switching Protocols\r\n\r\n"},

		{"HTTP/1.1 instead of HTTP/2", true, "HTTP/1.1 200 OK\r\n\r\n"},
		{"a proxy's greeting", true, "\x05\x00\x05\x00\x00\x01\x00\x00\x00"},
		{"a frame that is too long", true, frame(frameSettings, 0, 0, "") + "\x00\x40\x01\x00\x00\x00\x00\x00\x01"},
	} {
		tracker := Track(nil, &Conn{last: Arrival{Read: 9}}, tape.isHTTP2)
		tracker.note([]byte(tape.sent), Arrival{Read: 1})
		tracker.note([]byte(ok("Content-Length: 1")+"x"), Arrival{Read: 2})
		if tracker.Understands() {
			t.Errorf("%s: understood", tape.name)
		}
		if header, body := tracker.Header().Read, tracker.Arrival(1).Read; header != 9 || body != 9 {
			t.Errorf("%s: header of read %d, body of read %d, want 9", tape.name, header, body)
		}
	}
}

// TestTrackerKeepsLittle holds that the tracker forgets the arrivals of comments that a server sends for ever, a byte
// in each packet, and that the arrivals that it keeps stay right.
func TestTrackerKeepsLittle(t *testing.T) {
	tracker := Track(nil, &Conn{}, false)
	tracker.note([]byte(ok(chunked)), Arrival{})
	reads := uint64(0)
	comments := readerFunc(func(p []byte) (int, error) {
		reads++
		tracker.note([]byte(chunkOf(":")), Arrival{Read: reads})
		return copy(p, ":"), nil
	})
	frames := NewSSE(comments, tracker.Arrival, 4096)
	for range 10_000 {
		frames.reader.fill()
	}
	if got := tracker.Arrival(10_000).Read; got != 10_000 || cap(tracker.parts) > 256 {
		t.Errorf("the last byte is of read %d, %d arrivals are kept", got, cap(tracker.parts))
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// FuzzTracker holds that the way bytes are cut changes nothing, and that what net/http reads as a body has as many
// bytes as the tracker counts.
func FuzzTracker(f *testing.F) {
	for _, tape := range tapes() {
		f.Add([]byte(tape.sent), uint64(1), tape.isHTTP2)
	}
	f.Fuzz(func(t *testing.T, sent []byte, seed uint64, isHTTP2 bool) {
		whole := Track(nil, &Conn{}, isHTTP2)
		cut := Track(nil, &Conn{}, isHTTP2)
		whole.note(sent, Arrival{})
		random := rand.New(rand.NewPCG(seed, 0))
		for rest := sent; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			cut.note(rest[:n], Arrival{})
			rest = rest[n:]
		}
		if whole.lost != cut.lost || whole.size != cut.size {
			t.Errorf("whole: %d bytes, lost %t; cut: %d, %t", whole.size, whole.lost, cut.size, cut.lost)
		}
		if isHTTP2 || whole.lost {
			return
		}
		size, ok := bodySize(sent)
		if ok && whole.size != size {
			t.Errorf("%d bytes, by net/http %d", whole.size, size)
		}
	})
}

// bodySize returns the size of the body that net/http finds; ok is false if it finds none that is whole, or more than
// one answer.
func bodySize(sent []byte) (size int64, ok bool) {
	reader := bufio.NewReader(bytes.NewReader(sent))
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode < 200 {
		return 0, false
	}
	size, err = io.Copy(io.Discard, answer.Body)
	return size, err == nil && reader.Buffered() == 0
}
