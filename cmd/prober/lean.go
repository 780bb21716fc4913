package main

import (
	"os"
	"runtime/debug"
	"time"

	"go.uber.org/zap"
)

// What `prober run` does to be small. See docs/performance.md for what each brings.
const (
	// garbagePercent is how much garbage may lie about, of what is in use, before
	// it is collected; GOGC overrides it. Go's own 100 takes a third more memory.
	// There is little garbage for what is in use, so that twice as many collections
	// are still few.
	garbagePercent = 50
	// startOver is when all that only the start needs has been run: the first
	// probe and the first scrape, whatever their interval is by default.
	startOver = time.Minute
)

// stayLean makes the process small until end is called.
func stayLean(log *zap.Logger) (end func()) {
	before := debug.SetGCPercent(garbagePercent)
	if os.Getenv("GOGC") != "" {
		debug.SetGCPercent(before)
	}
	drop := time.AfterFunc(startOver, func() {
		log.Debug("what only the start needed of the binary is dropped", zap.Int("bytes", dropStartPages()))
	})
	return func() {
		drop.Stop()
		debug.SetGCPercent(before)
	}
}
