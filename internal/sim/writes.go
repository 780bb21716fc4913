package sim

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// writesHeader names the columns of a WriteLog.
const writesHeader = "profile,answer,trace,frame,frames,due,before,after\n"

// WritesHelp says for users what the columns are.
const WritesHelp = `  profile        of the endpoint
  answer, trace  its number, as in /sim/sent, and the trace id of the request's traceparent
  frame, frames  number of the first token frame in this Write, from 0; how many it carries
  due            when it was due by the schedule
  before, after  right before the Write, and when the kernel had the bytes; all three in
                 Unix nanoseconds of a clock that is never set`

// WriteLog writes down each Write of the streamed answers, for who measures how exactly a client sees them: CSV, a header
// and a line a Write, the lines of one answer together when it has ended.
//
//	profile  name of the server's profile
//	answer   Sent.ID of the answer
//	trace    trace id of the request's traceparent; empty if it had none
//	frame    number of the first token frame in the Write, from 0 in each answer
//	frames   token frames in the Write; 0 where it carried none (comments, what follows the last token)
//	due      when the Write was due by the schedule
//	before   right before the Write: as in SentFrame.At, or some microseconds later where the listener is Noted, right before
//	         the system call
//	after    when the bytes were the kernel's
//
// Instants are Unix nanoseconds as the wall clock stood when the log was opened, and go on by the monotonic clock: a wall
// clock that is set bends none. Several servers may share a WriteLog. It is safe for concurrent use, and what it costs a
// running answer is 32 bytes of memory a Write.
type WriteLog struct {
	origin time.Time

	mu   sync.Mutex // guards all below
	out  *bufio.Writer
	line []byte // rewritten for each Write
	late lateness
}

// NewWriteLog returns a log that writes to w, which stays the caller's to close.
func NewWriteLog(w io.Writer) *WriteLog {
	l := &WriteLog{origin: time.Now(), out: bufio.NewWriterSize(w, 64<<10)}
	_, _ = l.out.WriteString(writesHeader) // its error stays in out, see Flush
	return l
}

// Flush writes what is buffered. Its error is the first of all writes: after one nothing more is written.
func (l *WriteLog) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Flush()
}

// Lateness is how late the token frames of the answers that have ended were written.
func (l *WriteLog) Lateness() Lateness {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late.summary()
}

// writes are those of one answer. They belong to its goroutine. On a nil log nothing is kept.
type writes struct {
	log    *WriteLog
	frames int // token frames so far
	list   []written
}

// written is one Write; its instants count from the log's origin.
type written struct {
	due, before, after time.Duration
	frame, frames      int32
}

// newWrites allocates for the Writes of some tokens and of what is around them.
func newWrites(log *WriteLog, tokens int) writes {
	const around = 4
	w := writes{log: log}
	if log != nil {
		w.list = make([]written, 0, tokens+around)
	}
	return w
}

// note adds the Write that has just ended.
func (w *writes) note(due, before time.Time, frames int) {
	if w.log == nil {
		return
	}
	w.list = append(w.list, written{
		due: due.Sub(w.log.origin), before: before.Sub(w.log.origin), after: time.Since(w.log.origin),
		frame: int32(w.frames), frames: int32(frames),
	})
	w.frames += frames
}

// end hands the Writes of an answer to the log.
func (w *writes) end(a *answer) {
	if w.log != nil {
		w.log.add(a.server.config.Profile.Name, a.id, traceID(a.header), w.list)
	}
}

func (l *WriteLog) add(profile string, answer uint64, trace string, list []written) {
	head := profile + "," + strconv.FormatUint(answer, 10) + "," + trace
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.origin.UnixNano()
	for _, w := range list {
		b := append(l.line[:0], head...)
		for _, n := range [...]int64{int64(w.frame), int64(w.frames), at + int64(w.due), at + int64(w.before), at + int64(w.after)} {
			b = strconv.AppendInt(append(b, ','), n, 10)
		}
		l.line = append(b, '\n')
		_, _ = l.out.Write(l.line) // its error stays in out
		if w.frames > 0 {
			l.late.add(w.before - w.due)
		}
	}
}

// traceID is the trace id of a request, 32 hex digits; empty if it has none that is valid
// (https://www.w3.org/TR/trace-context/#traceparent-header).
func traceID(h http.Header) string {
	parts := strings.Split(h.Get("Traceparent"), "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0123456789abcdef") != "" || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return parts[1]
}
