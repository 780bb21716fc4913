package main

import (
	"context"
	"time"
)

// Turns let so many be at something at a time as the channel has room for.
type turns chan struct{}

// take returns when it is somebody's turn, who calls leave when done. After
// patience it returns all the same, and when ctx is done: one who hangs makes
// nobody wait for longer.
func (t turns) take(ctx context.Context, patience time.Duration) (leave func()) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return func() { <-t }
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}
}
