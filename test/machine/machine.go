// Package machine reads what Linux counts of processes and processors, for tests
// and programs that measure. It measures nothing itself.
package machine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is how the kernel counts the time of processors, for programs.
const tick = 10 * time.Millisecond

// CPU is the time that processors spent on a process so far, the kernel's included,
// in steps of 10 ms.
func CPU(pid int) (time.Duration, error) {
	data, err := file(pid, "stat")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(data, ") ") // the name before it may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("no times in %q", data)
	}
	return ticks(fields[11:13])
}

// Memory is a line of a process's status, in bytes: VmRSS is what is resident now,
// VmHWM the most that ever was.
func Memory(pid int, name string) (float64, error) {
	data, err := file(pid, "status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(data) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kB, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				return 0, fmt.Errorf("size %q: %w", line, err)
			}
			return float64(kB) * 1024, nil
		}
	}
	return 0, fmt.Errorf("the kernel does not say %s", name)
}

// Busy is the time that processors of the machine were not free so far: what is not
// ours of it is that of neighbours, [Stolen] included.
func Busy() (time.Duration, error) {
	fields, err := processors()
	if err != nil {
		return 0, err
	}
	return ticks(append(fields[0:3:3], fields[5:8]...)) // without idle and iowait; what guests had is in user and nice already
}

// Stolen is the time that a hypervisor gave to other machines so far while ours had work.
func Stolen() (time.Duration, error) {
	fields, err := processors()
	if err != nil {
		return 0, err
	}
	return ticks(fields[7:8])
}

// processors are the times of all processors together: user, nice, system, idle, iowait, irq, softirq, steal.
func processors() ([]string, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 {
		return nil, fmt.Errorf("no times in %q", first)
	}
	return fields[1:9], nil
}

// ticks adds up times.
func ticks(fields []string) (time.Duration, error) {
	sum := 0
	for _, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("time %q: %w", field, err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

func file(pid int, name string) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	return string(data), err
}
