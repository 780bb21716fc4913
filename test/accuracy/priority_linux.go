package main

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// startAhead starts a process in real time: it runs ahead of all that are not, as a
// server on a machine of its own would.
func startAhead(cmd *exec.Cmd) error {
	runtime.LockOSThread() // a process begins with the policy of the thread that starts it
	defer runtime.UnlockOSThread()
	turns := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	if err := unix.SchedSetAttr(0, &turns, 0); err != nil {
		return fmt.Errorf("-ahead, which takes CAP_SYS_NICE: %w", err)
	}
	defer func() {
		usual := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
		if unix.SchedSetAttr(0, &usual, 0) != nil { // then this thread ends with its goroutine
			runtime.LockOSThread()
		}
	}()
	return cmd.Start()
}
