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

// A socket is read with the kernel's timestamps, and written attempt by attempt. One goroutine reads at a time.
type socket struct {
	conn net.Conn
	raw  syscall.RawConn
	try  func(fd uintptr) bool // tryOnce: bound here once, so that no read allocates

	counts bool // the kernel counts packets: see [socket.count]

	// The read in progress.
	p       []byte
	got     receipt
	err     error
	oob     [128]byte // control messages that came with the bytes
	control int       // length of these messages
}

// newSocket asks the kernel for timestamps of what c receives. It returns nil if c is no socket, or if there are none.
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
	s := &socket{conn: c, raw: raw, counts: true}
	s.try = s.tryOnce
	return s
}

// read waits for bytes. The receipt holds what is known, even if there is an error.
func (s *socket) read(p []byte) (receipt, error) {
	s.p = p
	s.got = receipt{}
	s.err = nil
	err := s.raw.Read(s.try)
	s.p = nil
	switch {
	case err != nil: // closed, or a deadline
		return s.got, err
	case s.err != nil:
		return s.got, &net.OpError{
			Op: "read", Net: s.conn.LocalAddr().Network(), Source: s.conn.LocalAddr(), Addr: s.conn.RemoteAddr(),
			Err: os.NewSyscallError("recvmsg", s.err),
		}
	case s.got.n == 0:
		return s.got, io.EOF
	}
	s.got.kernel = timestampIn(s.oob[:s.control])
	return s.got, nil
}

// tryOnce reads without waiting. It reports whether there was anything to read, an error or the end included.
func (s *socket) tryOnce(fd uintptr) bool {
	for {
		began := time.Now()
		n, control, _, _, err := syscall.Recvmsg(int(fd), s.p, s.oob[:], 0)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			s.got.empty = began
			return false
		default:
			s.got.at = time.Now()
			s.got.began = began
			s.got.n = max(n, 0) // it is -1 with an error, which no reader may return
			s.control = control
			s.err = err
			if n > 0 {
				s.count(int(fd))
			}
			return true
		}
	}
}

// write writes all of p, and returns when the last attempt that wrote anything began and ended. One goroutine writes at
// a time.
func (s *socket) write(p []byte) (int, Sent, error) {
	var n int // bytes so far
	var sent Sent
	var failed error
	waited := s.raw.Write(func(fd uintptr) bool {
		for n < len(p) {
			began := time.Now()
			more, err := syscall.Write(int(fd), p[n:])
			ended := time.Now()
			switch {
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return false
			case err != nil:
				failed = err
				return true
			default:
				n += more
				sent = Sent{From: began, Until: ended}
			}
		}
		return true
	})
	switch {
	case waited != nil: // closed, or a deadline
		return n, sent, waited
	case failed != nil:
		return n, sent, &net.OpError{
			Op: "write", Net: s.conn.LocalAddr().Network(), Source: s.conn.LocalAddr(), Addr: s.conn.RemoteAddr(),
			Err: os.NewSyscallError("write", failed),
		}
	}
	return n, sent, nil
}

// count asks the kernel how much this connection has received so far. All counts are of one moment, since the kernel
// locks the connection while it reads them. Kernels before 4.6, some sandboxes and sockets other than TCP have none.
func (s *socket) count(fd int) {
	if !s.counts {
		return
	}
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.Data_segs_in == 0 || info.Bytes_received == 0 {
		s.counts = false
		return
	}
	s.got.counted = true
	s.got.packets = info.Data_segs_in
	s.got.bytes = info.Bytes_received
	s.got.outOfOrder = info.Rcv_ooopack
}

// timestampIn returns the timestamp among the control messages of a read, in nanoseconds since 1970; 0 if there is
// none. It knows their form on 64-bit machines.
func timestampIn(control []byte) int64 {
	for len(control) >= unix.SizeofCmsghdr {
		header, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return 0
		}
		if header.Level == unix.SOL_SOCKET && header.Type == unix.SCM_TIMESTAMPNS && len(data) == 16 {
			seconds := binary.NativeEndian.Uint64(data)
			nanoseconds := binary.NativeEndian.Uint64(data[8:])
			return int64(seconds)*int64(time.Second) + int64(nanoseconds)
		}
		control = rest
	}
	return 0
}

// EnableTimestamps makes the kernel timestamp what it receives from now on. Without it, the kernel starts when the
// first connection asks, and the first reads of that connection have no timestamps. It costs one socket, which stays
// open.
func EnableTimestamps() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	}
}
