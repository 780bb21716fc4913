//go:build !linux

package stream

import "net"

// A socket is read with the timestamps of the kernel, which only Linux gives with the bytes of a stream.
type socket struct{}

func newSocket(net.Conn) *socket { return nil }

func (*socket) read([]byte) (receipt, error) { panic("no socket") }

// EnableTimestamps does nothing where the kernel gives no timestamps.
func EnableTimestamps() {}
