package sim

import (
	"context"
	"sync/atomic"
	"time"
)

// coarse is how late a timer of an idle Go program may be on Linux, whose poller counts in milliseconds: a third of a
// gap between tokens.
const coarse = 1200 * time.Microsecond

// few is how many requests can have precise waits at once.
const few = 8

// preciseKey marks the context of a request whose waits are precise.
type preciseKey struct{}

// withPrecision returns a context in which sleepUntil ends within some ten microseconds of its moment, at the price of
// a thread that waits in the kernel for the last millisecond and then busily: while not more than a few requests are under
// way. Time must be real.
func withPrecision(ctx context.Context, under *atomic.Int64) context.Context {
	return context.WithValue(ctx, preciseKey{}, under)
}

// sleepUntil waits for a moment or for the end of ctx, whose error it returns.
func sleepUntil(ctx context.Context, at time.Time) error {
	if under, ok := ctx.Value(preciseKey{}).(*atomic.Int64); !ok || under.Load() > few {
		return sleepByTimer(ctx, at)
	}
	if err := sleepByTimer(ctx, at.Add(-coarse)); err != nil {
		return err
	}
	sleepInKernel(at)
	return ctx.Err()
}

func sleepByTimer(ctx context.Context, at time.Time) error {
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
