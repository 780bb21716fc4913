package sim

import (
	"syscall"
	"time"
)

// sleepInKernel waits for a moment that is near.
func sleepInKernel(at time.Time) {
	if wait := time.Until(at); wait > 0 {
		spec := syscall.NsecToTimespec(wait.Nanoseconds())
		_ = syscall.Nanosleep(&spec, nil) // woken early by a signal: less precise
	}
}
