package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMappingsAreReadAsTheKernelWritesThem(t *testing.T) {
	const smaps = `00400000-00e21000 r-xp 00000000 fe:00 10002510                           /opt/my bin/prober
Size:              10372 kB
Rss:                9024 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
01a05000-01aaa000 rw-p 01605000 fe:00 10002510                           /opt/my bin/prober
Rss:                 660 kB
Anonymous:           148 kB
7fda2254c000-7fda228ee000 rw-p 00000000 00:00 0 
Rss:                1992 kB
Anonymous:          1992 kB
`
	want := []mapping{
		{start: 0x400000, end: 0xe21000, path: "/opt/my bin/prober", resident: 9024 << 10},
		{start: 0x1a05000, end: 0x1aaa000, writable: true, path: "/opt/my bin/prober", resident: 660 << 10, written: 148 << 10},
		{start: 0x7fda2254c000, end: 0x7fda228ee000, writable: true, resident: 1992 << 10, written: 1992 << 10},
	}
	if diff := cmp.Diff(want, mappings(smaps), cmp.AllowUnexported(mapping{})); diff != "" {
		t.Error(diff)
	}
}

func TestTheBinaryRunsOnWithoutThePagesOfItsStart(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps"); err != nil {
		t.Skip("the kernel does not say what is mapped: ", err)
	}
	if n := dropStartPages(); n < 1<<20 {
		t.Errorf("%d bytes of the binary were mapped", n)
	}
	if n := dropStartPages(); n < 1<<16 { // what read this was mapped again
		t.Errorf("%d bytes of the binary are mapped again", n)
	}
}
