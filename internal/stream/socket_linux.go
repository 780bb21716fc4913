package stream

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A socket is read with the kernel's timestamps. One goroutine reads at a time.
type socket struct {
	conn net.Conn
	raw  syscall.RawConn
	once func(fd uintptr) bool // try, made once so that no read allocates

	// Of the read in progress.
	p       []byte
	n       int
	control int // bytes of oob that were filled
	err     error
	oob     [128]byte

	outOfOrder uint32 // packets that came out of order, when the kernel was asked last
}

// newSocket asks the kernel for timestamps of what c receives: nil if c is no socket or there are none.
func newSocket(c net.Conn) *socket {
	network, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := network.SyscallConn()
	if err != nil {
		return nil
	}
	asked := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	})
	if asked != nil || err != nil {
		return nil
	}
	s := &socket{conn: c, raw: raw}
	s.once = s.try
	return s
}

// read waits for bytes and returns them with their arrival in nanoseconds since
// 1970: that of the last packet among them, 0 without a timestamp.
func (s *socket) read(p []byte) (n int, stamp int64, err error) {
	s.p = p
	err = s.raw.Read(s.once)
	s.p = nil
	switch {
	case err != nil: // closed, or a deadline
		return 0, 0, err
	case s.err != nil:
		return 0, 0, &net.OpError{
			Op: "read", Net: s.conn.LocalAddr().Network(), Source: s.conn.LocalAddr(), Addr: s.conn.RemoteAddr(),
			Err: os.NewSyscallError("recvmsg", s.err),
		}
	case s.n == 0:
		return 0, 0, io.EOF
	}
	return s.n, timestampIn(s.oob[:s.control]), nil
}

// try reads once. It reports whether there was anything to read.
func (s *socket) try(fd uintptr) bool {
	for {
		s.n, s.control, _, _, s.err = syscall.Recvmsg(int(fd), s.p, s.oob[:], 0)
		if !errors.Is(s.err, syscall.EINTR) {
			return !errors.Is(s.err, syscall.EAGAIN)
		}
	}
}

// reordered reports whether packets came out of order since the last call. Kernels before 5.4 do not count them.
func (s *socket) reordered() bool {
	before := s.outOfOrder
	_ = s.raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			s.outOfOrder = info.Rcv_ooopack
		}
	})
	return s.outOfOrder != before
}

// timestampIn is the timestamp among control messages of 64-bit machines, in nanoseconds since 1970; 0 if there is none.
func timestampIn(control []byte) int64 {
	for len(control) >= unix.SizeofCmsghdr {
		header, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return 0
		}
		if header.Level == unix.SOL_SOCKET && header.Type == unix.SCM_TIMESTAMPNS && len(data) == 16 {
			seconds, nanoseconds := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
			return int64(seconds)*int64(time.Second) + int64(nanoseconds)
		}
		control = rest
	}
	return 0
}

// EnableTimestamps makes the kernel timestamp what it receives from now on. Without it, the kernel starts when the
// first connection asks, and that connection's first reads have no timestamps. It costs one socket, which stays open.
func EnableTimestamps() {
	if fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0); err == nil {
		_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	}
}
