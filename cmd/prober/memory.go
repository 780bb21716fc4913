package main

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/zap"
)

// garbagePercent is the GOGC of a prober that runs for long. Go's own 100 takes a third more memory; see
// docs/measurement.md.
const garbagePercent = 40

// saveMemory sets when Go collects garbage, unless the environment does by GOGC and GOMEMLIMIT. The function that it
// returns undoes that. Without a limit that could be read, as on macOS, the prober works as well.
func saveMemory(log *zap.Logger) (undo func()) {
	percent := debug.SetGCPercent(garbagePercent)
	if os.Getenv("GOGC") != "" {
		debug.SetGCPercent(percent)
	}
	bytes := debug.SetMemoryLimit(-1) // reads it
	limit, err := memlimit.Set()      // nine tenths of the limit of the cgroup: of the container, or the service
	log.Debug("memory limit", zap.Int64("bytes", limit), zap.Error(err))
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(bytes)
	}
}
