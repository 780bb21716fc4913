package stream

// A framing parses the bytes that a server sends on a connection, to find where responses and their bodies lie in them.
type framing interface {
	// parse takes the next bytes and returns what it found in them. It returns false once it does not understand the
	// bytes, and for all bytes after that.
	parse(p []byte) (found parsed, ok bool)
}

// A parsed describes what was found in a block of bytes.
type parsed struct {
	begun  bool // a new response begins in the block: the rest describes that one
	header bool // its header is complete
	body   int  // number of bytes of its body
}
