package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A server is a paced server, a process of its own: this program.
type server struct {
	cmd  *exec.Cmd
	in   io.Closer
	out  *bufio.Reader
	said bytes.Buffer // standard error
	url  string
}

// startServer starts one that is killed when ctx is done.
func startServer(ctx context.Context, p plan, streams int) (*server, error) {
	s := &server{}
	var err error
	if s.cmd, err = child(ctx, "", paceVariable, pace{Tokens: p.tokensOf(streams), Gap: p.gap, First: time.Second}); err != nil {
		return nil, err
	}
	s.cmd.Stderr = &s.said
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	pipe, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(pipe)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server said %q instead of its address", line), s.wait())
	}
	s.url = "http://" + strings.TrimSpace(line)
	return s, nil
}

// child is this program with a task in a variable of its environment, which makes it a server or a client. What is to be
// done before is a shell's.
func child(ctx context.Context, before, variable string, task any) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(task)
	cmd := exec.CommandContext(ctx, program)
	if before != "" {
		cmd = exec.CommandContext(ctx, "/bin/sh", "-c", before+`exec "$0"`, program)
	}
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	return cmd, err
}

// stop ends it, and returns what it wrote when, and what processor time it took.
func (s *server) stop() (w writes, cpu time.Duration, err error) {
	if err := s.in.Close(); err != nil {
		return nil, 0, err
	}
	decoded := gob.NewDecoder(s.out).Decode(&w)
	if err := errors.Join(decoded, s.wait()); err != nil {
		return nil, 0, err
	}
	return w, s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime(), nil
}

func (s *server) wait() error {
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("server: %w: %s", err, strings.TrimSpace(s.said.String()))
	}
	return nil
}

// kill ends it if it still runs.
func (s *server) kill() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// interrupted is how long a Write takes at least in which the server lost its
// processor, where it is busy: others take 8 µs. When the bytes left is not known to less
// than that.
const interrupted = int64(50 * time.Microsecond)

// brief reports whether nothing interrupted the Write.
func (w written) brief() bool { return w.After-w.Before < interrupted }
