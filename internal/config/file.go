package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

const maxFile = 64 << 20 // bytes; books and data sets are the longest

// ErrPipe is the error of a ReadFile that does not wait for another process to write
// to a pipe.
var ErrPipe = errors.New("is not a regular file, and others are read only at the start")

var errTooLarge = errors.New("has more than 64 MiB")

// ReadFile reads a file that the configuration names. One of more than 64 MiB, a
// device that never ends for example, is an error, and no more of it is read.
func ReadFile(path string) (data []byte, err error) {
	file, err := os.Open(path) //nolint:gosec // the user named it
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err = io.ReadAll(io.LimitReader(file, maxFile+1))
	if len(data) > maxFile {
		return nil, errTooLarge
	}
	return data, err
}

// reason says why a file could not be read, without its name or content.
func reason(err error) string {
	for _, known := range []error{errTooLarge, ErrPipe} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	switch no, system := errors.AsType[syscall.Errno](err); {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case system:
		return fmt.Sprintf("cannot be read: %v", no)
	}
	return "cannot be read"
}
