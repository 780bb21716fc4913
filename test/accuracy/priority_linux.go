package main

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// startAhead starts a process that runs ahead of all that are not in real time, as a
// server on a machine of its own would: else the client that is measured delays the
// writes it is held against. It takes CAP_SYS_NICE; ahead is false without.
func startAhead(cmd *exec.Cmd) (ahead bool, err error) {
	runtime.LockOSThread() // a process begins with the policy of the thread that starts it
	defer runtime.UnlockOSThread()
	turns := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	if unix.SchedSetAttr(0, &turns, 0) != nil {
		return false, cmd.Start()
	}
	defer func() {
		usual := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
		if unix.SchedSetAttr(0, &usual, 0) != nil { // then this thread ends with its goroutine
			runtime.LockOSThread()
		}
	}()
	return true, cmd.Start()
}
