package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/prompt"
)

// A sum tells one content of a file from another. It is zero if the file could
// not be read.
type sum [sha256.Size]byte

// A reading is the files from which a configuration was read. Each is read once,
// so that all that is made of them agrees while they change. A nil reading
// remembers nothing. Its methods are called by one goroutine.
type reading struct {
	held  map[string]sum    // what they held, by path
	data  map[string][]byte // the same, until settled
	pipes map[string][]byte // what came out of pipes and devices, which give it once
	again bool              // after the start nobody waits for what a pipe may hold

	books map[string]func() (string, error)         // by length and path, until settled
	sets  map[string]func() ([]prompt.Entry, error) // by path, until settled
}

func newReading() *reading {
	return &reading{
		held: map[string]sum{}, data: map[string][]byte{}, pipes: map[string][]byte{},
		books: map[string]func() (string, error){}, sets: map[string]func() ([]prompt.Entry, error){},
	}
}

// anew returns a reading of files as they are by now, but for pipes: they stay as
// they were read.
func (r *reading) anew() *reading {
	next := newReading()
	if next.again = true; r != nil {
		maps.Copy(next.pipes, r.pipes)
	}
	return next
}

// settle lets go of contents: what they were made for has been made.
func (r *reading) settle() {
	if r != nil {
		clear(r.data)
		clear(r.books)
		clear(r.sets)
	}
}

// read is [config.ReadFile], once a path, and notes what it read.
func (r *reading) read(path string) ([]byte, error) {
	if r == nil {
		return config.ReadFile(path)
	}
	if data, ok := r.data[path]; ok {
		return data, nil
	}
	whole, ok := unread(path) // before it is read: what changes meanwhile is read again
	piped := pipe(path)
	data, kept := r.pipes[path]
	var err error
	switch {
	case piped && kept:
	case piped && r.again:
		err = config.ErrPipe
	default:
		data, err = config.ReadFile(path)
	}
	if !ok {
		whole = sumOf(data, err)
	}
	r.held[path] = whole
	if err == nil {
		r.data[path] = data
		if piped {
			r.pipes[path] = data
		}
	}
	return data, err
}

// book is the text of a book for prompts of a length, parsed once for all that
// ask from it.
func (r *reading) book(path string, tokens int) (string, error) {
	parse := func() (string, error) {
		data, err := r.read(path)
		if err != nil {
			return "", err
		}
		return prompt.ParseBook(data, tokens)
	}
	if r == nil {
		return parse()
	}
	return onceFor(r.books, fmt.Sprint(tokens, " ", path), parse)
}

// dataset is the same of a data set.
func (r *reading) dataset(path string) ([]prompt.Entry, error) {
	parse := func() ([]prompt.Entry, error) {
		data, err := r.read(path)
		if err != nil {
			return nil, err
		}
		return prompt.ParseDataset(data)
	}
	if r == nil {
		return parse()
	}
	return onceFor(r.sets, path, parse)
}

// onceFor is parse, called once for a key.
func onceFor[T any](parsed map[string]func() (T, error), key string, parse func() (T, error)) (T, error) {
	if parsed[key] == nil {
		parsed[key] = sync.OnceValues(parse)
	}
	return parsed[key]()
}

// now is what the same files hold by now, by path. A path is followed anew: where
// Kubernetes mounts a ConfigMap or a Secret it leads through a link to a
// directory, which is replaced as a whole.
func (r *reading) now() map[string]sum {
	now := make(map[string]sum, len(r.held))
	for path := range r.held {
		whole, ok := unread(path)
		if !ok {
			whole = sumOf(config.ReadFile(path))
		}
		now[path] = whole
	}
	return now
}

// differs returns the paths whose content is another one in now, sorted.
func (r *reading) differs(now map[string]sum) []string {
	var paths []string
	for path, content := range r.held {
		if now[path] != content {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// sumOf is the sum of what was read.
func sumOf(data []byte, err error) sum {
	if err != nil {
		return sum{}
	}
	return sha256.Sum256(data)
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

// pipe reports whether a file is a pipe or a device. A directory is none: that it
// cannot be read says enough.
func pipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}
