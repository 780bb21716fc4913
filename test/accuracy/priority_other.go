//go:build !linux

package main

import "os/exec"

// startAhead starts a process like any other.
func startAhead(cmd *exec.Cmd) (ahead bool, err error) { return false, cmd.Start() }
