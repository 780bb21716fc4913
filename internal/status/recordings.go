package status

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"

	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/llm-prober/prober/internal/probe"
)

// How large the files of recordings get: 100 MB together. A result of 100 tokens is about 5 kB.
const (
	recordingMB     = 10
	olderRecordings = 9
)

// Recordings are failures and slow probes as JSON lines in files, which outlive the prober.
type Recordings struct {
	file    *lumberjack.Logger
	pending chan *probe.Result
	stop    chan struct{} // closed when what is pending is all
	writing sync.WaitGroup
	onError func(error)
}

// NewRecordings begins to write recordings to a directory, which is created; nil if dir is empty. The caller closes them.
func NewRecordings(dir string, onError func(error)) (*Recordings, error) {
	if dir == "" {
		return nil, nil
	}
	r := &Recordings{
		file:    &lumberjack.Logger{Filename: filepath.Join(dir, "recordings.jsonl"), MaxSize: recordingMB, MaxBackups: olderRecordings},
		pending: make(chan *probe.Result, 64), stop: make(chan struct{}), onError: onError,
	}
	if _, err := r.file.Write(nil); err != nil { // it opens the file
		return nil, err
	}
	r.writing.Go(r.write)
	return r, nil
}

// Add takes a result to be written later. No probe waits for a disk: where it is too slow, results are left out.
func (r *Recordings) Add(result *probe.Result) {
	select {
	case r.pending <- result:
	default:
		r.onError(fmt.Errorf("recording of %s left out: the disk is too slow", result.TraceID))
	}
}

func (r *Recordings) write() {
	encoder := json.NewEncoder(r.file)
	put := func(result *probe.Result) {
		if err := encoder.Encode(result.JSON()); err != nil {
			r.onError(err)
		}
	}
	for {
		select {
		case result := <-r.pending:
			put(result)
		case <-r.stop:
			for range len(r.pending) {
				put(<-r.pending)
			}
			return
		}
	}
}

// Close writes what is pending and ends.
func (r *Recordings) Close() {
	close(r.stop)
	r.writing.Wait()
	_ = r.file.Close()
}
