package stream

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A socket is read with the time stamps of the kernel. One goroutine reads at a time.
type socket struct {
	conn net.Conn
	raw  syscall.RawConn
	once func(fd uintptr) bool // try, made once so that no read allocates

	// Of the read under way.
	p       []byte
	n       int
	control int // bytes of oob that were filled
	err     error
	oob     [128]byte

	ask  func(fd uintptr) // inform, made once as well
	info unix.TCPInfo     // of the connection, when it was asked last
}

// newSocket asks the kernel for time stamps of what c receives: nil if c is no
// socket or there are none.
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
	s.once, s.ask = s.try, s.inform
	return s
}

// read waits for bytes and returns them with their arrival, in nanoseconds since
// 1970: that of the last packet among them, or 0 if the kernel does not tell.
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
	return s.n, stampIn(s.oob[:s.control]), nil
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

// reordered reports whether packets came out of order since it was asked last. Kernels before
// 5.4 do not tell.
func (s *socket) reordered() bool {
	before := s.info.Rcv_ooopack
	_ = s.raw.Control(s.ask)
	return s.info.Rcv_ooopack != before
}

// inform asks the kernel what it knows of the connection. unix.GetsockoptTCPInfo would allocate,
// and it is asked just when the prober is late.
func (s *socket) inform(fd uintptr) {
	size := uint32(unsafe.Sizeof(s.info))
	_, _, _ = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&s.info)), uintptr(unsafe.Pointer(&size)), 0)
}

// stampIn is the time stamp among control messages, in nanoseconds since 1970; 0 if
// there is none.
func stampIn(control []byte) int64 {
	for len(control) >= syscall.SizeofCmsghdr {
		length, level, kind := header(control)
		if length < syscall.SizeofCmsghdr || length > len(control) {
			return 0
		}
		if level == syscall.SOL_SOCKET && kind == syscall.SCM_TIMESTAMPNS {
			return timespec(control[syscall.SizeofCmsghdr:length])
		}
		control = control[min(aligned(length), len(control)):]
	}
	return 0
}

// word is the size of the kernel's long, in bytes.
const word = bits.UintSize / 8

// header reads the length of a control message with its header, its level and its kind.
func header(control []byte) (length, level, kind int) {
	rest := control[word:]
	return int(long(control)), int(int32(binary.NativeEndian.Uint32(rest))), int(int32(binary.NativeEndian.Uint32(rest[4:])))
}

// aligned is the room that a control message takes.
func aligned(length int) int { return (length + word - 1) &^ (word - 1) }

func timespec(data []byte) int64 {
	if len(data) < 2*word {
		return 0
	}
	return long(data)*int64(time.Second) + long(data[word:])
}

// long reads a long of the kernel's.
func long(data []byte) int64 {
	if word == 4 {
		return int64(int32(binary.NativeEndian.Uint32(data)))
	}
	return int64(binary.NativeEndian.Uint64(data))
}

// KeepStamping makes the kernel stamp what it receives from now on, not only as soon as
// the next connection has asked for it: that may take longer than the first token. It
// costs one socket, which stop closes; where it fails, nothing is lost but the first stamps
// of a connection.
func KeepStamping() (stop func()) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return func() {}
	}
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	return func() { _ = syscall.Close(fd) }
}
