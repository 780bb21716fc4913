package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A simulator is the server, a process of its own.
type simulator struct {
	cmd  *exec.Cmd
	said bytes.Buffer // standard error
	path string       // of its log
	url  string
}

// startSimulator starts one that is killed when ctx is done. Its log goes to path.
func startSimulator(ctx context.Context, p plan, path string) (*simulator, error) {
	s := &simulator{path: path}
	s.cmd = exec.CommandContext(ctx, p.binary, "simulate", "--profile", p.profile, "--listen", "127.0.0.1:0", "--log-writes", path)
	if p.gap != plannedGap {
		s.cmd.Args = append(s.cmd.Args, "--fault", fmt.Sprintf("itl=%g", float64(p.gap)/float64(plannedGap)))
	}
	s.cmd.Stderr = &s.said
	pipe, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.start(s.cmd); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) != 2 {
		return nil, errors.Join(fmt.Errorf("simulator said %q instead of its address", line), s.wait())
	}
	s.url = words[1]
	return s, nil
}

// stop ends it, and returns what it wrote when, and what processor time it took.
func (s *simulator) stop() (writes, time.Duration, error) {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return nil, 0, err
	}
	if err := s.wait(); err != nil {
		return nil, 0, err
	}
	file, err := os.Open(s.path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	w, err := readWrites(file)
	return w, s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime(), err
}

func (s *simulator) wait() error {
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("simulator: %w: %s", err, strings.TrimSpace(s.said.String()))
	}
	return nil
}

// kill ends it if it still runs.
func (s *simulator) kill() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// writes are the token frames that a simulator wrote, in order, by trace id.
type writes map[string][]written

// A written is one token frame, in Unix nanoseconds: when it was due, and the moments
// before and after its Write.
type written struct{ due, before, after int64 }

// interrupted is how long a Write takes at least in which the simulator lost its
// processor, where it is busy: others take 8 µs. When the bytes left is not known to less
// than that.
const interrupted = int64(promisedGap)

// brief reports whether nothing interrupted the Write.
func (w written) brief() bool { return w.after-w.before < interrupted }

// The header of a log, and its columns that are of use here.
const (
	logHeader = "profile,answer,trace,frame,frames,due,before,after"

	columnTrace, columnFrame, columnAfter = 2, 3, 7 // frames, due and before lie between the last two
)

// readWrites reads a log of prober simulate --log-writes.
func readWrites(r io.Reader) (writes, error) {
	lines := bufio.NewScanner(r)
	if !lines.Scan() || lines.Text() != logHeader {
		return nil, fmt.Errorf("log begins with %q, want %q", lines.Text(), logHeader)
	}
	all := writes{}
	for lines.Scan() {
		if err := all.add(strings.Split(lines.Text(), ",")); err != nil {
			return nil, fmt.Errorf("log line %q: %w", lines.Text(), err)
		}
	}
	return all, lines.Err()
}

// add takes one line. The frames of one Write were written at one moment.
func (w writes) add(line []string) error {
	if len(line) != strings.Count(logHeader, ",")+1 {
		return errors.New("wrong number of columns")
	}
	var n [columnAfter - columnFrame + 1]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(line[columnFrame+i], 10, 64); err != nil {
			return err
		}
	}
	trace := line[columnTrace]
	if n[0] != int64(len(w[trace])) {
		return fmt.Errorf("frame %d follows %d others", n[0], len(w[trace]))
	}
	for range n[1] {
		w[trace] = append(w[trace], written{due: n[2], before: n[3], after: n[4]})
	}
	return nil
}
