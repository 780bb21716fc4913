//go:build !linux

package stream

import "net"

// A socket is never made: only Linux gives timestamps with the bytes of a TCP stream.
type socket struct{}

func newSocket(net.Conn) *socket { return nil }

func (*socket) read([]byte) (receipt, error) { panic("no socket") }

func (*socket) write([]byte) (int, Sent, error) { panic("no socket") }

// EnableTimestamps does nothing where the kernel gives no timestamps.
func EnableTimestamps() {}
