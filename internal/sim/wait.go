package sim

import (
	"context"
	"time"
)

const (
	// coarse is how late a timer of an idle Go program may be on Linux, whose poller counts in milliseconds.
	coarse = 1200 * time.Microsecond
	few    = 8 // answers that can have precise waits at once
)

// sleepUntil waits for a moment or for the end of ctx, whose error it returns. With Config.Precise it ends within
// some hundred microseconds of the moment, at the price of a thread that waits in the kernel, while few answers are
// under way.
func (s *Server) sleepUntil(ctx context.Context, at time.Time) error {
	if !s.config.Precise || s.running.Load() > few {
		return sleepUntil(ctx, at)
	}
	if err := sleepUntil(ctx, at.Add(-coarse)); err != nil {
		return err
	}
	sleepInKernel(at)
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
