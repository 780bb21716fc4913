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

// short is a sleep that is not worth the price of telling the scheduler.
const short = 200 * time.Microsecond

// napInKernel sleeps, its thread with it. The scheduler is not told of a short sleep: it would give the thread's processor
// away each time, which costs more than the sleep. It must be told where alone is true: there is no other processor.
func napInKernel(wait time.Duration, alone bool) {
	spec := syscall.NsecToTimespec(wait.Nanoseconds())
	if alone || wait > short {
		_ = syscall.Nanosleep(&spec, nil) // woken early by a signal: who naps looks at the clock
		return
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&spec)), 0, 0)
}
