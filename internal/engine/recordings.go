package engine

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"go.uber.org/zap"
	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// How large the files of recordings get: one of the latest and the older ones, 100 MB together. A result of 100 tokens
// is about 5 kB.
const (
	recordingMB     = 10
	olderRecordings = 9
)

// recordings are failures and slow probes as JSON lines in files, which outlive the prober.
type recordings struct {
	file    *lumberjack.Logger
	pending chan *probe.Result
	stop    chan struct{} // closed when what is pending is all
	done    chan struct{} // closed when all are written
	log     *zap.Logger
}

// newRecordings begins to write recordings to a directory, which is created; nil if dir is empty. The caller closes them.
func newRecordings(dir string, log *zap.Logger) (*recordings, error) {
	if dir == "" {
		return nil, nil
	}
	r := &recordings{
		file:    &lumberjack.Logger{Filename: filepath.Join(dir, "recordings.jsonl"), MaxSize: recordingMB, MaxBackups: olderRecordings},
		pending: make(chan *probe.Result, 64), stop: make(chan struct{}), done: make(chan struct{}), log: log,
	}
	if _, err := r.file.Write(nil); err != nil { // it opens the file
		return nil, config.Problems{{
			Place: fmt.Sprintf("PROBER_RECORDINGS_DIR=%q", dir), Text: err.Error(), Hint: "want a directory that the prober may write to",
		}}
	}
	go r.write()
	return r, nil
}

// add takes a result to be written later. No probe waits for a disk: where it is too slow, results are left out.
func (r *recordings) add(result *probe.Result) {
	select {
	case r.pending <- result:
	default:
		r.log.Warn("a recording was left out: the disk is too slow", zap.String("target", result.Target), zap.String("trace_id", result.TraceID))
	}
}

func (r *recordings) write() {
	defer close(r.done)
	encoder := json.NewEncoder(r.file)
	put := func(result *probe.Result) {
		if err := encoder.Encode(report.Account(result)); err != nil {
			r.log.Warn("a recording was not written", zap.Error(err))
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

// close writes what is pending and ends.
func (r *recordings) close() {
	close(r.stop)
	<-r.done
	_ = r.file.Close()
}
