package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dropStartPages lets go of the pages of the binary's file, and returns how many
// bytes of them were mapped. What is used again is mapped again from the kernel's
// cache; what only the start needed is not: a third of some 19 MB, since 500
// packages initialize themselves at places far apart, and with each page the
// kernel maps the 64 kB around it. The pages are the file's, and the same before
// and after.
//
// A mapping of which a page was written, by a loader's relocations or a debugger's
// breakpoints, is left alone: its file does not hold what was written.
func dropStartPages() (mapped int) {
	smaps, _ := os.ReadFile("/proc/self/smaps") // without it there is nothing to drop
	binary, _ := os.Readlink("/proc/self/exe")
	for _, m := range mappings(string(smaps)) {
		if m.path == "" || m.path != binary || m.writable || m.written > 0 {
			continue
		}
		_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED)
		if errno == 0 {
			mapped += m.resident
		}
	}
	return mapped
}

// A mapping is a part of the process's memory, as the kernel describes it.
type mapping struct {
	start, end        uintptr
	writable          bool
	path              string // empty: of no file
	resident, written int    // bytes; written are the process's own copies of the file's pages
}

// mappings reads /proc/self/smaps, of which proc_pid_smaps(5) tells: a line with
// addresses, rights, offset, device, inode and path, and others with a name, a
// number and its unit.
func mappings(smaps string) (list []mapping) {
	for line := range strings.Lines(smaps) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if from, to, found := strings.Cut(fields[0], "-"); found {
			list = append(list, newMapping(from, to, fields))
		} else if len(list) > 0 {
			list[len(list)-1].add(fields[0], fields[1])
		}
	}
	return list
}

func newMapping(from, to string, fields []string) mapping {
	start, _ := strconv.ParseUint(from, 16, strconv.IntSize)
	end, _ := strconv.ParseUint(to, 16, strconv.IntSize)
	m := mapping{start: uintptr(start), end: uintptr(end), writable: strings.Contains(fields[1], "w")}
	if len(fields) > 5 {
		m.path = strings.Join(fields[5:], " ")
	}
	return m
}

// add takes one line about the mapping.
func (m *mapping) add(name, number string) {
	kB, _ := strconv.Atoi(number) // those that are asked for are numbers
	switch name {
	case "Rss:":
		m.resident = kB << 10
	case "Anonymous:":
		m.written = kB << 10
	}
}
