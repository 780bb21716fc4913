package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/sim"
)

// writesHelp says what the file of --log-writes holds.
const writesHelp = `  profile        of the endpoint
  answer, trace  its number, as in /sim/sent, and the trace id of the request's traceparent
  frame, frames  number of the first token frame in this Write, from 0; how many it carries
  due            when it was due by the schedule
  before, after  right before the Write, and when the kernel had the bytes; all three in
                 Unix nanoseconds of a clock that nobody sets`

// runLogged is run with a log of the Writes: complete when it returns, or an error.
func (s simulation) runLogged(ctx context.Context, stdout, stderr io.Writer) error {
	file, err := os.Create(s.logWrites)
	if err != nil {
		return config.Problems{{Place: fmt.Sprintf("--log-writes=%q", s.logWrites), Text: err.Error(), Hint: "want a file that can be written"}}
	}
	s.log = sim.NewWriteLog(file)
	served := s.serve(ctx, stdout)
	written := errors.Join(s.log.Flush(), file.Close())
	if written != nil {
		written = fmt.Errorf("write --log-writes: %w", written)
	}
	if late := s.log.Lateness(); late.Writes > 0 {
		fmt.Fprintln(stderr, "prober simulate:", late)
	}
	return errors.Join(served, written)
}
