package main

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// A server is a paced server, a process of its own: this program.
type server struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
	url string
}

// startServer starts one that is killed when ctx is done.
func startServer(ctx context.Context, j job) (*server, error) {
	cmd, err := child(ctx, "", j)
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, in: in, out: bufio.NewReader(out)}
	line, err := s.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("server said %q instead of its address: %w", line, errors.Join(err, cmd.Wait()))
	}
	s.url = "http://" + strings.TrimSpace(line)
	return s, nil
}

// stop ends it, and returns what it wrote when, and what processor time it took.
func (s *server) stop() (w writes, cpu time.Duration, err error) {
	if err := s.in.Close(); err != nil {
		return nil, 0, err
	}
	decoded := gob.NewDecoder(s.out).Decode(&w)
	if err := errors.Join(decoded, s.cmd.Wait()); err != nil {
		return nil, 0, fmt.Errorf("server: %w", err)
	}
	return w, s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime(), nil
}
