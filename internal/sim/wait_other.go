//go:build !linux

package sim

import "time"

// sleepInKernel waits for a moment that is near, by the timer.
func sleepInKernel(at time.Time) { time.Sleep(time.Until(at)) }
