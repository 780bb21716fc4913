package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"

	"github.com/llm-prober/prober/internal/config"
)

// A sum tells one content of a file from another. It is zero if the file could
// not be read.
type sum [sha256.Size]byte

// A reading is what the files held from which a configuration was read, by path.
type reading map[string]sum

// read is [config.ReadFile], and notes what it read.
func (r reading) read(path string) ([]byte, error) {
	data, err := config.ReadFile(path)
	switch whole, ok := unread(path); {
	case ok:
		r[path] = whole
	case err != nil:
		r[path] = sum{}
	default:
		r[path] = sha256.Sum256(data)
	}
	return data, err
}

// now is what the same files hold by now. A path is followed anew: where
// Kubernetes mounts a ConfigMap or a Secret it leads through a link to a
// directory, which is replaced as a whole.
func (r reading) now() reading {
	now := make(reading, len(r))
	for path := range r {
		if whole, ok := unread(path); ok {
			now[path] = whole
		} else {
			_, _ = now.read(path) // that it cannot be read is noted
		}
	}
	return now
}

// differs returns the paths whose content is another one in o, sorted.
func (r reading) differs(o reading) []string {
	var paths []string
	for path, content := range r {
		if o[path] != content {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// large is the size in bytes from which on files are told apart by size and time:
// reading a book every few seconds would disturb the measurement.
const large = 1 << 20

// unread is the sum of a file that is not read again to tell whether it changed;
// ok is false if it is to be read. What is no regular file is always the same:
// reading a pipe would take away what somebody else is to read.
func unread(path string) (whole sum, ok bool) {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.Mode().IsRegular() && info.Size() < large:
		return sum{}, false
	case !info.Mode().IsRegular():
		return sum{1}, true
	}
	return sha256.Sum256(fmt.Appendf(nil, "%d bytes of %d", info.Size(), info.ModTime().UnixNano())), true
}
