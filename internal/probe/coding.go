package probe

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/llm-prober/prober/internal/stream"
)

// A coding is the content coding of a body (RFC 9110, section 8.4.1), as its first bytes show it.
type coding string

// The codings. Deflate has two forms: the one of the standard, and what some servers took it for.
const (
	codingIdentity   coding = ""
	codingGzip       coding = "gzip"
	codingDeflate    coding = "deflate"
	codingRawDeflate coding = "deflate without a header"
	codingBrotli     coding = "br"
	codingZstd       coding = "zstd"
)

const sniffLength = 16 // bytes that tell codings apart

// codingOf returns the coding of a body that begins with some bytes, of a header that names codings. The bytes count,
// except for Brotli, which has no mark of its own. A word that nobody knows is no coding if the body is text: "none"
// and "utf-8" are in use. An error says that the body cannot be read.
func codingOf(named []string, begin []byte) (coding, error) {
	last := ""
	if len(named) > 0 {
		last = named[len(named)-1]
	}
	isZlib := len(begin) > 1 && begin[0]&0x0f == 8 && (int(begin[0])<<8|int(begin[1]))%31 == 0
	switch {
	case bytes.HasPrefix(begin, []byte("\x1f\x8b")):
		return codingGzip, nil
	case bytes.HasPrefix(begin, []byte("\x28\xb5\x2f\xfd")):
		return codingZstd, nil
	case last == "br":
		return codingBrotli, nil
	case last == "deflate" && isZlib:
		return codingDeflate, nil
	case last == "deflate" && !isText(begin):
		return codingRawDeflate, nil
	case len(begin) > 0 && slices.Contains([]string{"gzip", "x-gzip", "deflate", "zstd"}, last):
		return codingIdentity, fmt.Errorf("the answer's header says %s, and its body is something else", last)
	case last != "" && !isText(begin):
		return codingIdentity, fmt.Errorf("the answer has the unknown content coding %s", last)
	}
	return codingIdentity, nil
}

// isText reports whether bytes are the beginning of a text. Their last letter may be cut.
func isText(begin []byte) bool {
	for len(begin) > 0 {
		letter, size := utf8.DecodeRune(begin)
		switch {
		case letter == utf8.RuneError && utf8.FullRune(begin), unicode.IsControl(letter) && !unicode.IsSpace(letter):
			return false
		}
		begin = begin[size:]
	}
	return true
}

// namedCodings returns the codings that a header names, in lower case and in the order in which they were applied.
func namedCodings(header http.Header) []string {
	list := strings.Split(strings.ToLower(strings.Join(header.Values("Content-Encoding"), ",")), ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return slices.DeleteFunc(list, func(name string) bool { return name == "" || name == "identity" })
}

// decoder returns a reader of what r holds in a coding. It never waits for more of r than its next bytes need, if r
// returns single bytes.
func (c coding) decoder(r flate.Reader) (io.Reader, error) {
	switch c {
	case codingGzip:
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		unzipped.Multistream(false) // no client reads another one, and looking for it would wait
		return unzipped, nil
	case codingDeflate:
		return zlib.NewReader(r)
	case codingRawDeflate:
		return flate.NewReader(r), nil
	case codingBrotli:
		return brotli.NewReader(r), nil
	case codingZstd:
		const longestWindow = 8 << 20 // RFC 9659
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(longestWindow))
	}
	return r, nil
}

// readBody reads a whole body. It keeps at most limit bytes, and of a compressed body at most limit bytes of the
// content.
func readBody(resp *http.Response, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	named := namedCodings(resp.Header)
	for range 2 { // a proxy may compress what a server has compressed
		c, unknown := codingOf(named, body[:min(len(body), sniffLength)])
		if c == codingIdentity {
			if unknown != nil && !isText(body[:min(len(body), sniffLength)]) {
				return fmt.Appendf(nil, "%d bytes: %v", len(body), unknown), err
			}
			return body, err
		}
		plain, broken := c.inflate(body, limit)
		if broken != nil && len(plain) == 0 {
			return fmt.Appendf(nil, "%d bytes, compressed (%s), that cannot be inflated: %v", len(body), c, broken), err
		}
		body = plain
		named = named[:max(0, len(named)-1)]
	}
	return body, err
}

// inflate returns at most limit bytes of what a body holds in a coding, as far as it can be read.
func (c coding) inflate(body []byte, limit int64) ([]byte, error) {
	decoder, err := c.decoder(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(decoder, limit))
}

// A bodyInflater reads the body of a stream that may be compressed, although identity was asked for, and knows which of
// its bytes came when: what the decoder returns needed all that it had read until then, and no more.
type bodyInflater struct {
	io.Closer // of the body

	named    []string // codings of the header
	source   *byteSource
	arrivals func(end int64) stream.Arrival // of the compressed body

	coding  coding    // once the first bytes were read
	decoder io.Reader // nil before
	end     int64     // bytes returned so far
	marks   []mark    // those that may still be asked for, oldest first
}

// A mark says how many bytes of a compressed body had been read when the first end bytes of the plain one were there.
type mark struct{ end, read int64 }

// newBodyInflater returns a reader of an answer's body. The other parameters are those of [stream.NewSSE].
func newBodyInflater(resp *http.Response, arrivals func(end int64) stream.Arrival, size int) *bodyInflater {
	return &bodyInflater{
		Closer: resp.Body, named: namedCodings(resp.Header), arrivals: arrivals,
		source: &byteSource{body: resp.Body, buf: make([]byte, size)},
	}
}

// Read returns what is there, and waits only if that is nothing. Its errors are those of the body, or a [codingError].
func (b *bodyInflater) Read(p []byte) (int, error) {
	if b.decoder == nil {
		err := b.begin()
		if err != nil {
			return 0, b.explain(err)
		}
	}
	n, err := b.decoder.Read(p)
	b.end += int64(n)
	last := len(b.marks) - 1
	if last >= 0 && b.marks[last].read == b.source.read {
		b.marks[last].end = b.end
	} else if n > 0 {
		b.marks = append(b.marks, mark{b.end, b.source.read})
	}
	const most = 64 << 20 // bytes: an answer of a million tokens has fewer, and a bomb has more
	if b.coding != codingIdentity && b.end > most {
		return n, b.explain(fmt.Errorf("it holds more than %d MiB", most>>20))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.explain(err)
	}
	return n, err
}

// begin looks at the first bytes and chooses the decoder.
func (b *bodyInflater) begin() error {
	begin := b.source.peek(sniffLength)
	if len(b.named) > 1 {
		return fmt.Errorf("it is compressed several times (%s)", strings.Join(b.named, ", "))
	}
	var err error
	b.coding, err = codingOf(b.named, begin)
	if err != nil {
		return err
	}
	if b.coding == codingIdentity {
		b.decoder = plainBody{b.source}
		return nil
	}
	b.decoder, err = b.coding.decoder(b.source)
	return err
}

// explain returns an error of the decoder as one of the answer; one of the body stays as it is.
func (b *bodyInflater) explain(err error) error {
	switch {
	case b.source.err != nil && !errors.Is(b.source.err, io.EOF):
		return b.source.err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	if b.coding == codingIdentity {
		return codingError(err.Error())
	}
	return codingError(fmt.Sprintf("the answer is compressed (%s) and cannot be inflated: %v", b.coding, err))
}

// A codingError says why the content coding of an answer cannot be read.
type codingError string

func (e codingError) Error() string { return string(e) }

// arrival returns that of the first end bytes of the plain body, which must have been read; end never decreases.
func (b *bodyInflater) arrival(end int64) stream.Arrival {
	for len(b.marks) > 1 && b.marks[0].end < end {
		b.marks = b.marks[1:]
	}
	switch {
	case b.coding == codingIdentity:
		return b.arrivals(end)
	case len(b.marks) == 0:
		return b.arrivals(0)
	}
	return b.arrivals(b.marks[0].read)
}

// A byteSource gives the bytes of a body one by one, so that no decoder takes more than it needs.
type byteSource struct {
	body   io.Reader
	buf    []byte
	unread []byte // the part of buf that was not given yet
	read   int64  // bytes given so far
	err    error  // the body's error, or its end
}

// peek returns the first n bytes of the body, fewer if it has no more.
func (s *byteSource) peek(n int) []byte {
	first := make([]byte, 0, n)
	for len(first) < n && s.err == nil {
		var more int
		more, s.err = s.body.Read(first[len(first):n])
		first = first[:len(first)+more]
	}
	s.unread = first
	return first
}

// Read returns one byte, if there is room for it.
func (s *byteSource) Read(p []byte) (int, error) {
	return s.readSome(p[:min(1, len(p))])
}

// ReadByte returns the next byte.
func (s *byteSource) ReadByte() (byte, error) {
	var one [1]byte
	_, err := s.readSome(one[:])
	return one[0], err
}

// readSome returns what is there, and reads the body once if that is nothing.
func (s *byteSource) readSome(p []byte) (int, error) {
	for len(s.unread) == 0 && len(p) > 0 {
		if s.err != nil {
			return 0, s.err
		}
		var n int
		n, s.err = s.body.Read(s.buf)
		s.unread = s.buf[:n]
	}
	n := copy(p, s.unread)
	s.unread = s.unread[n:]
	s.read += int64(n)
	return n, nil
}

// A plainBody reads a body that is not compressed, in pieces as they come.
type plainBody struct{ source *byteSource }

// Read does what [io.Reader] says.
func (b plainBody) Read(p []byte) (int, error) { return b.source.readSome(p) }
