package probe

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/stream"
)

// An answering is the connection that a request went out on, as far as its answer
// is concerned.
type answering struct {
	follower *stream.BodyTracker
	socket   *stream.Conn
	secure   *tls.Conn // nil without TLS
	refused  int       // of socket, before this request
}

// answeringOn takes apart what [Route] dialled: the outermost connection may be net/http's own
// TLS, through a proxy.
func answeringOn(c net.Conn) answering {
	var a answering
	for c != nil {
		switch layer := c.(type) {
		case *stream.Conn:
			a.socket, a.refused = layer, layer.Refused()
			return a
		case *stream.BodyTracker:
			a.follower = layer
		case *tls.Conn:
			if a.secure == nil { // the outermost: another may lead to a proxy
				a.secure = layer
			}
		}
		c = c.(interface{ NetConn() net.Conn }).NetConn()
	}
	return a
}

// certExpiry is the earliest expiry in the chain of the server's certificates.
func (a answering) certExpiry() time.Time {
	if a.secure == nil {
		return time.Time{}
	}
	return earliestExpiry(a.secure.ConnectionState().PeerCertificates)
}

// stamps says how the frames of an answer learn their arrival, and how many bytes of
// its body to ask for at once: see [stream.NewSSE]. TLS that net/http speaks through a proxy hides
// the answer from whoever follows.
func (a answering) stamps(resp *http.Response) (func(end int64) stream.Stamp, int) {
	const many = 2048
	if a.follower.Knows() {
		return a.follower.Arrival, many
	}
	last := func(int64) stream.Stamp { return a.socket.Last() }
	if slices.Contains(resp.TransferEncoding, "chunked") {
		return last, 1
	}
	return last, many
}
