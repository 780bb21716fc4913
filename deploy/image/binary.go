package main

import (
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// A binary is an executable and what the Go tool wrote into it.
type binary struct {
	content  []byte
	info     *debug.BuildInfo
	os, arch string
	version  string    // as in v0.1.0; "devel" if it has none
	revision string    // "unknown" if it has none
	built    time.Time // the commit's, not the build's; 1970 if it has none
}

// open reads a binary of any platform.
func open(path string) (*binary, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the file that was asked for
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read build info of %s: %w", path, err)
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	b := &binary{
		content: content, info: info, os: set["GOOS"], arch: set["GOARCH"],
		version: info.Main.Version, revision: cmp.Or(set["vcs.revision"], "unknown"), built: time.Unix(0, 0).UTC(),
	}
	if b.version == "" || b.version == "(devel)" {
		b.version = "devel"
	}
	if at := set["vcs.time"]; at != "" {
		if b.built, err = time.Parse(time.RFC3339, at); err != nil {
			return nil, fmt.Errorf("%s: time of its commit: %w", path, err)
		}
	}
	return b, nil
}

// static is an error if the binary needs a loader or a library beside it.
func (b *binary) static(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is for no Linux: %w", path, err)
	}
	defer f.Close()
	for _, segment := range f.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			return errors.New(path + " is not static: build it with CGO_ENABLED=0")
		}
	}
	return nil
}
