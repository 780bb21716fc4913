package sim

import (
	"syscall"
	"time"
	"unsafe"
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

// napInKernel sleeps, its thread with it, and does not tell the scheduler: that would give the thread's place to another
// each time, at a price far above that of a short sleep. So it is for less than a few milliseconds.
func napInKernel(wait time.Duration) {
	spec := syscall.NsecToTimespec(wait.Nanoseconds())
	_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&spec)), 0, 0) // woken early by a signal: who naps looks at the clock
}
