package daemon

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/llm-prober/prober/internal/config"
)

// A fingerprint tells one content of a file from another. It is zero if the file could not be read.
type fingerprint [sha256.Size]byte

// Files are a snapshot of the files from which a configuration was read. Its methods are called by one goroutine.
type Files struct {
	held      map[string]fingerprint // by path, when they were read
	seen      map[string]fingerprint // by path, at the last look
	pipes     map[string][]byte      // what came out of pipes and devices, which give it once
	refreshed bool                   // after the start no pipe is read: that could block
}

// NewFiles returns a snapshot of no file yet.
func NewFiles() *Files {
	return &Files{held: map[string]fingerprint{}, pipes: map[string][]byte{}}
}

// refresh returns a snapshot for files as they are by now, but for pipes: they stay as they were read.
func (f *Files) refresh() *Files {
	return &Files{held: map[string]fingerprint{}, seen: f.seen, pipes: f.pipes, refreshed: true}
}

// Read is [config.ReadFile], and notes what it read.
func (f *Files) Read(path string) (data []byte, err error) {
	f.held[path] = look(path) // before it is read: what changes meanwhile is read again
	data, kept := f.pipes[path]
	switch {
	case f.held[path] != pipe:
		return config.ReadFile(path)
	case !kept && f.refreshed:
		return nil, errors.New("is not a regular file, and others are read only at the start")
	case !kept:
		if data, err = config.ReadFile(path); err == nil {
			f.pipes[path] = data
		}
	}
	return data, err
}

// changed returns the files, sorted, that hold something else than was read from them, and did so at the last look
// already: one that is being written, or is away while it is replaced, has not changed yet. Links are followed again:
// where Kubernetes mounts a ConfigMap or a Secret, one leads to a directory, which is replaced as a whole.
func (f *Files) changed() []string {
	now := make(map[string]fingerprint, len(f.held))
	for path := range f.held {
		now[path] = look(path)
	}
	settled := maps.Equal(now, f.seen)
	f.seen = now
	if !settled {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(now)), func(path string) bool { return now[path] == f.held[path] })
}

// large is the size from which on files are told apart by size and time: reading a large data set often would disturb the
// measurement.
const large = 1 << 20

// pipe is the fingerprint of every pipe and device: reading it would take away what somebody else is to read.
var pipe = fingerprint{1}

func look(path string) fingerprint {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir():
		return fingerprint{}
	case !info.Mode().IsRegular():
		return pipe
	case info.Size() >= large:
		return sha256.Sum256(fmt.Appendf(nil, "%d bytes of %d", info.Size(), info.ModTime().UnixNano()))
	}
	data, err := config.ReadFile(path)
	if err != nil {
		return fingerprint{}
	}
	return sha256.Sum256(data)
}
