package memconn

import (
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Buffer is how many bytes a connection of Serve holds: more than any answer of a test writes at once.
const Buffer = 1 << 16

// Serve answers requests with a handler until the end of the test and returns the listener that reaches it. Within a
// synctest bubble it runs in virtual time, and the end of the test waits for all of its goroutines.
func Serve(t testing.TB, handler http.Handler) *Listener {
	t.Helper()
	listener := Listen(Buffer)
	ServeOn(t, &http.Server{Handler: handler}, listener)
	return listener
}

// ServeOn serves on a listener until the end of the test: for servers that need more than a handler.
func ServeOn(t testing.TB, server *http.Server, listener net.Listener) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
		// net/http lingers for half a second on connections whose request was not read. In a bubble that is virtual.
		time.Sleep(time.Second)
	})
}
