package main

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/zap"
)

// garbagePercent is the GOGC of run and demo. With Go's own default, 100, they need a third more memory: see
// docs/measurement.md.
const garbagePercent = 40

// saveMemory sets when Go collects garbage, unless GOGC and GOMEMLIMIT do, and returns a function that undoes it. If no
// memory limit can be read, as on macOS, it sets none.
func saveMemory(log *zap.Logger) (undo func()) {
	percentBefore := debug.SetGCPercent(garbagePercent)
	if os.Getenv("GOGC") != "" {
		debug.SetGCPercent(percentBefore)
	}
	limitBefore := debug.SetMemoryLimit(-1) // only reads it
	limit, err := memlimit.Set()            // nine tenths of the limit of the cgroup: of the container, or the service
	log.Debug("memory limit", zap.Int64("bytes", limit), zap.Error(err))
	return func() {
		debug.SetGCPercent(percentBefore)
		debug.SetMemoryLimit(limitBefore)
	}
}
