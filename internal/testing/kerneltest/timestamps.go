// Package kerneltest ends tests that need the kernel's timestamps on a machine that gives none. Only tests import it.
package kerneltest

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// optional is the variable that allows a Linux machine to have no timestamps, as some sandboxes: it is then "optional".
const optional = "PROBER_TEST_KERNEL_TIMESTAMPS"

// Patience is how long a test asks for timestamps before it misses them: the kernel begins with them in a task of its
// own, which waits for its turn on a loaded machine.
const Patience = 30 * time.Second

// MissTimestamps ends a test that got no timestamps of the kernel. On Linux it fails: a prober that has lost them
// measures much worse, and nothing else would tell. Other systems have none, and the test is skipped.
func MissTimestamps(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "linux" && os.Getenv(optional) != "optional" {
		t.Fatalf("no timestamps of the kernel here; in a sandbox without them, set %s=optional to skip this test", optional)
	}
	t.Skip("no timestamps of the kernel here")
}
