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
	got     receipt
	control int // bytes of oob that were filled
	err     error
	oob     [128]byte

	counts bool // the kernel counts packets: see [socket.count]
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
	s := &socket{conn: c, raw: raw, counts: true}
	s.once = s.try
	return s
}

// read waits for bytes. The receipt is filled as far as it is known, also where there is an error.
func (s *socket) read(p []byte) (receipt, error) {
	s.p = p
	s.got, s.err = receipt{}, nil
	err := s.raw.Read(s.once)
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

// try reads once. It reports whether there was anything to read.
func (s *socket) try(fd uintptr) bool {
	for {
		began := time.Now()
		n, control, _, _, err := syscall.Recvmsg(int(fd), s.p, s.oob[:], 0)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			s.got.empty = began
			return false
		default:
			s.got.began, s.got.at = began, time.Now()
			s.got.n, s.control, s.err = max(n, 0), control, err // -1 with an error, which no reader may return
			if n > 0 {
				s.count(int(fd))
			}
			return true
		}
	}
}

// count asks the kernel how much this connection has received so far. Both counts are of one moment, since the kernel
// locks the connection for them. Kernels before 4.6, some sandboxes and sockets that are not TCP have none.
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
	s.got.packets, s.got.bytes, s.got.outOfOrder = info.Data_segs_in, info.Bytes_received, info.Rcv_ooopack
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
