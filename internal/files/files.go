// Package files reads the files that a configuration names: keys, certificates and data sets. A file is known by its
// content, so that one which was replaced by an equal one has not changed. Start reading at [Files].
package files

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/wire"
)

// Files are the files of one load of a configuration. Each is read once, so that everything that is made of it agrees,
// even if the file changes meanwhile. The methods are called by one goroutine, in this order: [New] or [Files.Next]
// begins a load, which reads and parses; [Files.Keep] says that its configuration is in force; [Files.Release] ends the
// load; [Files.Changed] says when it is time for the next one.
type Files struct {
	contents map[string]content // by path: what was read
	lastLook map[string]look    // by path: at the last call of Changed
	isReload bool               // this is not the first load

	dataSets map[Hash][][]wire.Turn // by the content of the file: what this load parsed
	tls      map[tlsFiles]*tls.Config

	// inForce are the data sets of the last load whose configuration was put in force. A target that goes on keeps the
	// data set of an earlier load. Without inForce, each reload that changes one of a hundred targets would leave a
	// further copy in memory.
	inForce map[Hash][][]wire.Turn
}

// A content is what was read of a file, or why it could not be read.
type content struct {
	before look   // what a look at the file saw just before it was read
	data   []byte // nil after Release
	hash   Hash   // of data
	err    error
}

// A Hash distinguishes the contents of files. It is zero if a file could not be read.
type Hash [sha256.Size]byte

// New returns the files of a first load. None is read yet.
func New() *Files {
	return &Files{
		contents: map[string]content{},
		dataSets: map[Hash][][]wire.Turn{},
		tls:      map[tlsFiles]*tls.Config{},
	}
}

// Next returns the files of the next load, which reads them again. What was read from pipes is taken over, because it
// does not come twice: prober run --api-key-file <(pass llm).
func (f *Files) Next() *Files {
	next := New()
	next.isReload = true
	next.lastLook = f.lastLook
	next.inForce = f.inForce
	for path, c := range f.contents {
		if c.before.isPipe && c.err == nil {
			next.contents[path] = c
		}
	}
	return next
}

// Keep says that the configuration of this load is in force: later loads take over its data sets. Data sets that only
// earlier loads parsed are forgotten.
func (f *Files) Keep() { f.inForce = f.dataSets }

// Release drops the contents, after everything has been parsed, except for those of pipes.
func (f *Files) Release() {
	for path, c := range f.contents {
		if !c.before.isPipe {
			c.data = nil
			f.contents[path] = c
		}
	}
}

// Read returns the content of a file, until Release.
func (f *Files) Read(path string) ([]byte, error) {
	c := f.content(path)
	return c.data, c.err
}

// Hashes returns the hashes of the files that t names, in the order of [config.Target.Files].
func (f *Files) Hashes(t config.Target) []Hash {
	var hashes []Hash
	for _, path := range t.Files() {
		hashes = append(hashes, f.content(path).hash)
	}
	return hashes
}

// content returns what was read of a file. It reads the file if this load did not.
func (f *Files) content(path string) content {
	known, ok := f.contents[path]
	if ok {
		return known
	}
	c := content{before: lookAt(path)} // before the file is read, so that Changed notices a change meanwhile
	if c.before.isPipe && f.isReload { // reading it could block
		c.err = errors.New("is not a regular file, and others are read only at the start")
	} else {
		c.data, c.err = config.ReadFile(path)
	}
	if c.err == nil {
		c.hash = sha256.Sum256(c.data)
	}
	f.contents[path] = c
	return c
}

// Changed returns the files, sorted, whose contents are no longer what was read from them. It returns none until two
// calls have found the same: a file may be half written, or away while it is replaced. Links are followed again,
// because Kubernetes mounts a ConfigMap or a Secret as links into a directory that is replaced as a whole.
func (f *Files) Changed() []string {
	now := make(map[string]look, len(f.contents))
	for path := range f.contents {
		now[path] = lookAt(path)
	}
	settled := maps.Equal(now, f.lastLook)
	f.lastLook = now
	if !settled {
		return nil
	}
	var changed []string
	for path, seen := range now {
		if seen != f.contents[path].before {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	return changed
}

// A look at a file is equal to an earlier one if the file has the same content. It is zero if the file could not be
// read.
type look struct {
	hash   Hash // of the content, or of the size and the time of a large file
	isPipe bool // or a device: it is not read only to look at it
}

// large is the size in bytes from which a look takes the size and the time of a file instead of its content: reading a
// large data set often would disturb the measurement.
const large = 1 << 20

// lookAt looks at a file.
func lookAt(path string) look {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir():
		return look{}
	case !info.Mode().IsRegular():
		return look{isPipe: true}
	case info.Size() >= large:
		return look{hash: sha256.Sum256(fmt.Appendf(nil, "%d bytes of %d", info.Size(), info.ModTime().UnixNano()))}
	}
	data, err := config.ReadFile(path)
	if err != nil {
		return look{}
	}
	return look{hash: sha256.Sum256(data)}
}
