package sim

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// sleepUntil waits for a moment or for the end of ctx, whose error it returns. If s is precise it ends within some
// hundred microseconds of the moment, at the price of a thread that waits in the kernel, while few answers are under
// way.
func (s *Server) sleepUntil(ctx context.Context, at time.Time) error {
	const (
		// coarse is how late a timer of an idle Go program may be on Linux, whose poller counts in milliseconds.
		coarse = 1200 * time.Microsecond
		few    = 8
	)
	if !s.precise || s.answering.Load() > few {
		return sleepUntil(ctx, at)
	}
	err := sleepUntil(ctx, at.Add(-coarse))
	if err != nil {
		return err
	}
	rest := unix.NsecToTimeval(max(0, time.Until(at).Nanoseconds()))
	_, _ = unix.Select(0, nil, nil, nil, &rest) // a signal wakes it early: less precise
	return ctx.Err()
}

// sleepUntil waits for a moment by a timer, or for the end of ctx, whose error it returns.
func sleepUntil(ctx context.Context, at time.Time) error {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
