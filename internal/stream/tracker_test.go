package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
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

// tapes returns what servers send, in either version of HTTP. In each, the bytes # are the last answer's body and there
// are no others of them. A header of HTTP/2 ends with !.
func tapes() (one, two map[string]string) {
	head := func(stream uint32) string { return frame(frameHeaders, 0x4, stream, "compressed!") }
	data := func(stream uint32, text string) string { return frame(frameData, 0, stream, text) }
	settled := frame(frameSettings, 0, 0, "settings")
	one = map[string]string{
		"chunks":                 ok("Server: uvicorn", chunked) + chunkOf("####") + chunkOf("##") + "0\r\n\r\n",
		"another case":           ok("transfer-encoding:  Chunked") + chunkOf("###"),
		"a chunk of many bytes":  ok(chunked) + chunkOf(strings.Repeat("#", 0x1a3)),
		"extensions, a trailer":  ok(chunked) + "3;a=b\r\n###\r\n0\r\nX: y\r\n\r\n",
		"a known length":         ok("Content-Length: 6") + "######",
		"a hint before":          "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok(chunked) + chunkOf("###"),
		"a long header":          ok("X: "+strings.Repeat("y", 1000), chunked) + chunkOf("###"),
		"lines ended by LF":      "HTTP/1.1 200 OK\n" + chunked + "\n\n" + chunkOf("###"),
		"the next answer":        ok(chunked) + chunkOf("first") + "0\r\n\r\n" + ok(chunked) + chunkOf("##") + chunkOf("#"),
		"after one without body": "HTTP/1.1 204 No Content\r\n\r\n" + ok("Content-Length: 0") + ok(chunked) + chunkOf("###"),
		"after one that cannot have the body it tells of": "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n" +
			"HTTP/1.1 204 No Content\r\n" + chunked + "\r\n\r\n" + ok(chunked) + chunkOf("###"),
	}
	two = map[string]string{
		"data":            settled + head(1) + data(1, "####") + frame(8, 0, 1, "wind") + data(1, "##"),
		"padding":         settled + head(1) + padded("###", 7) + padded("", 2) + padded("###", 1),
		"a trailer":       settled + head(1) + data(1, "###") + frame(frameHeaders, 0x5, 1, "checksum"),
		"an empty frame":  settled + head(1) + data(1, "") + data(1, "###"),
		"the next stream": settled + head(1) + data(1, "first") + head(3) + data(3, "###"),
		"what is left of the stream before": settled + head(1) + data(1, "first") + head(3) + data(3, "##") +
			data(1, "old") + data(3, "#"),
	}
	return one, two
}

// TestTrackerTellsTheReadOfEachByte cuts what a server sends at every place, and into
// single bytes: of each byte of the body the tracker knows with which read it came.
func TestTrackerTellsTheReadOfEachByte(t *testing.T) {
	one, two := tapes()
	for second, tapes := range []map[string]string{one, two} {
		for name, sent := range tapes {
			t.Run(name, func(t *testing.T) {
				for cut := range len(sent) {
					check(t, sent, second == 1, sent[:cut], sent[cut:])
				}
				check(t, sent, second == 1, strings.Split(sent, "")...)
			})
		}
	}
}

// check tracks a tape in parts.
func check(t *testing.T, sent string, two bool, parts ...string) {
	t.Helper()
	f := Track(nil, &Conn{}, two)
	of := make([]uint64, 0, len(sent)) // the read of each byte
	for i, part := range parts {
		f.note([]byte(part), Timestamp{Read: uint64(i + 1)})
		for range len(part) {
			of = append(of, uint64(i+1))
		}
	}
	if !f.Understands() {
		t.Fatal("not understood")
	}
	before := sent[:strings.Index(sent, "#")]
	header := max(
		strings.LastIndex(before, "\n\r\n")+2,
		strings.LastIndex(before, "\n\n")+1,
		strings.LastIndex(before, "!"),
	)
	if got := f.Header().Read; got != of[header] {
		t.Errorf("header of read %d, want %d", got, of[header])
	}
	end := int64(0)
	for i := range len(sent) {
		if sent[i] != '#' {
			continue
		}
		end++
		if got := f.Arrival(end).Read; got != of[i] {
			t.Errorf("byte %d of the body of read %d, want %d", end, got, of[i])
		}
	}
}

// TestTrackerKnowsWhatItDoesNotUnderstand lists what cannot be tracked: there the last read is the arrival.
func TestTrackerKnowsWhatItDoesNotUnderstand(t *testing.T) {
	for name, test := range map[string]struct {
		two  bool
		text string
	}{
		"a body until the end":    {false, ok("Server: x") + "data: a\n\n"},
		"another protocol":        {false, "SSH-2.0-OpenSSH\r\n"},
		"a header without end":    {false, "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 1<<21)},
		"a status that is none":   {false, "HTTP/1.1 OK\r\n\r\n"},
		"TLS":                     {false, "\x16\x03\x01\x02\x00\x01\n"},
		"TLS after CONNECT":       {false, ok("Content-Length: 0") + "\x16\x03\x01\x02\x00\n"},
		"a length that is none":   {false, ok("Content-Length: many")},
		"a chunk without size":    {false, ok(chunked) + "xyz\r\n"},
		"a chunk longer than all": {false, ok(chunked) + "1\r\nab\r\n"},
		"after some of the body":  {false, ok(chunked) + chunkOf("#") + "xyz\r\n"},
		"a switch of protocols":   {false, "HTTP/1.1 101 Switching Protocols\r\n\r\n"},

		"HTTP/1.1 where HTTP/2 was spoken": {true, "HTTP/1.1 200 OK\r\n\r\n"},
		"a proxy's greeting":               {true, "\x05\x00\x05\x00\x00\x01\x00\x00\x00"},
		"a frame that is too long": {true, "\x00\x00\x00\x04\x00\x00\x00\x00\x00" +
			"\x00\x40\x01\x00\x00\x00\x00\x00\x01"},
	} {
		f := Track(nil, &Conn{last: Timestamp{Read: 9}}, test.two)
		f.note([]byte(test.text), Timestamp{Read: 1})
		f.note([]byte(ok("Content-Length: 1")+"x"), Timestamp{Read: 2})
		if f.Understands() || f.Header().Read != 9 || f.Arrival(1).Read != 9 {
			t.Errorf("%s: understood", name)
		}
	}
}

// TestTrackerKeepsLittle holds that a server that sends comments for ever, a byte a packet, does not make the tracker
// keep their arrivals, and that those which are kept stay right.
func TestTrackerKeepsLittle(t *testing.T) {
	f, reads := Track(nil, &Conn{}, false), uint64(0)
	f.note([]byte(ok(chunked)), Timestamp{})
	s := NewSSE(readerFunc(func(p []byte) (int, error) {
		reads++
		f.note([]byte(chunkOf(":")), Timestamp{Read: reads})
		return copy(p, ":"), nil
	}), f.Arrival, 4096)
	for range 10_000 {
		s.fill()
	}
	if got := f.Arrival(10_000).Read; got != 10_000 || cap(f.arrivals) > 256 {
		t.Errorf("the last byte is of read %d, %d arrivals are kept", got, cap(f.arrivals))
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// FuzzTracker holds that the way bytes are cut changes nothing, and that what net/http
// reads as a body has as many bytes as the tracker counts.
func FuzzTracker(f *testing.F) {
	one, two := tapes()
	for second, tapes := range []map[string]string{one, two} {
		for _, sent := range tapes {
			f.Add([]byte(sent), uint64(1), second == 1)
		}
	}
	f.Fuzz(func(t *testing.T, sent []byte, seed uint64, two bool) {
		whole, cut := Track(nil, &Conn{}, two), Track(nil, &Conn{}, two)
		whole.note(sent, Timestamp{})
		random := rand.New(rand.NewPCG(seed, 0))
		for rest := sent; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			cut.note(rest[:n], Timestamp{})
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
