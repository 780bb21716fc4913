//go:build !linux

package main

import (
	"errors"
	"os/exec"
)

// startAhead says that it cannot.
func startAhead(*exec.Cmd) error { return errors.New("-ahead needs Linux") }
