//go:build !linux

package stream

import "net"

// A socket is read with the time stamps of the kernel, which only Linux gives with
// the bytes of a stream.
type socket struct{}

func newSocket(net.Conn) *socket { return nil }

func (*socket) reordered() bool { return false }

func (*socket) read([]byte) (n int, stamp int64, err error) { panic("no socket") }

// KeepStamping does nothing where the kernel stamps nothing.
func KeepStamping() (stop func()) { return func() {} }
