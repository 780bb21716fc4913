package machine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Throttle makes a control group that has 20 ms of a processor in each 100 ms, with a process
// that never rests. A shell that runs enter is in it. Lift ends the group; the caller's processes in
// it must have ended.
func Throttle() (enter string, lift func(), err error) {
	for _, version := range []struct{ root, limit, share string }{
		{"/sys/fs/cgroup", "cpu.max", "20000 100000"},
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "20000"},
	} {
		group := filepath.Join(version.root, "prober-accuracy-"+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(group, 0o700); err != nil {
			continue
		}
		if set(filepath.Join(group, version.limit), version.share) != nil { // a folder like any other, or a controller that is elsewhere
			_ = os.Remove(group)
			continue
		}
		enter := "echo $$ >" + group + "/cgroup.procs; "
		busy := exec.Command("/bin/sh", "-c", enter+"while :; do :; done")
		if err := busy.Start(); err != nil {
			return "", nil, errors.Join(err, os.Remove(group))
		}
		return enter, func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
			for range 100 { // the kernel forgets processes a little later
				if os.Remove(group) == nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}, nil
	}
	return "", nil, errors.New("no control group with a CPU limit can be made here: run as root")
}

// set writes to a file that must be there.
func set(path, value string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}
