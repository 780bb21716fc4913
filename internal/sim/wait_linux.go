package sim

import (
	"syscall"
	"time"
)

// slack is how late the kernel wakes a thread at most times.
const slack = 80 * time.Microsecond

// sleepInKernel waits for a moment that is near, the last of it busily.
func sleepInKernel(at time.Time) {
	if wait := time.Until(at) - slack; wait > 0 {
		spec := syscall.NsecToTimespec(wait.Nanoseconds())
		_ = syscall.Nanosleep(&spec, nil) // woken early by a signal: the rest is busy
	}
	for time.Now().Before(at) { //nolint:revive // busy on purpose
	}
}

// napInKernel sleeps, its thread with it.
func napInKernel(wait time.Duration) {
	spec := syscall.NsecToTimespec(wait.Nanoseconds())
	_ = syscall.Nanosleep(&spec, nil) // woken early by a signal: who naps looks at the clock
}
