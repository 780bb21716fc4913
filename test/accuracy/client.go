package main

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/llm-prober/prober/internal/wire"
	"github.com/llm-prober/prober/test/machine"
)

// jobVariable holds a job, as JSON: a process that has it in its environment is a
// client, and nothing else. So its processor time and its memory are the client's.
const jobVariable = "PROBER_ACCURACY_JOB"

// A job is what a client is to do.
type job struct {
	Client          string // one of clients
	URL             string // of the server
	Streams, Tokens int
	Gap             time.Duration // between tokens
	Spread          time.Duration // in which the streams begin
}

// The clients.
const (
	bareReader    = "bare reader"
	userStamped   = "prober, user timestamps"
	kernelStamped = "prober, kernel timestamps"
)

// clients are all clients, in the order in which they are measured.
func clients() []string { return []string{bareReader, userStamped, kernelStamped} }

// A report is what a client tells at its end.
type report struct {
	Streams []seen
	CPU     time.Duration // of the process, from its start until all streams were read
	Peak    float64       // bytes: the most memory that it had until then
}

// A seen is what a client saw of one answer.
type seen struct {
	Trace    string  // id
	Arrivals []int64 // of each token frame, in Unix nanoseconds
	Together int     // token frames that came in one read with the one before
	Kernel   int     // token frames with a kernel timestamp
	Tainted  bool
	ITL      []time.Duration
	Joined   int           // tokens whose ITL is a mean
	TTFT     bool          // it has one
	MaxGap   time.Duration // -1 if it has none
}

// A reader asks for one answer and reads it. What it saw is put together later by
// the function that it returns, so that this is not in what the client costs.
type reader func(ctx context.Context) (func() seen, error)

// model is the name of the server's model.
const model = "meta-llama/Llama-3.1-8B-Instruct"

// runJob does a job, and writes its report to out.
func runJob(ctx context.Context, text string, out io.Writer) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	read, err := j.reader()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, j.spans()+time.Minute)
	defer cancel()
	saw, err := j.readAll(ctx, read)
	if err != nil {
		return err
	}
	var spent syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &spent) // never fails for oneself
	r := report{CPU: time.Duration(spent.Utime.Nano() + spent.Stime.Nano())}
	if r.Peak, err = machine.Memory(os.Getpid(), "VmHWM"); err != nil {
		return err
	}
	for _, f := range saw {
		r.Streams = append(r.Streams, f())
	}
	return gob.NewEncoder(out).Encode(r)
}

// spans is about how long the job takes: the time to the first token is a second.
func (j job) spans() time.Duration {
	return j.Spread + time.Second + time.Duration(j.Tokens)*j.Gap
}

// reader is the job's client.
func (j job) reader() (reader, error) {
	dialect, err := wire.Lookup("openai-chat")
	if err != nil {
		return nil, err
	}
	ask := wire.Ask{Model: model, Prompt: strings.Repeat("word ", 16), MaxTokens: j.Tokens}
	if j.Client == bareReader {
		return newBare(j, dialect, ask)
	}
	return newProber(j, dialect, ask, j.Client == userStamped), nil
}

// readAll reads all streams of the job. The error is that of the first that failed.
func (j job) readAll(ctx context.Context, read reader) ([]func() seen, error) {
	saw, errs := make([]func() seen, j.Streams), make([]error, j.Streams)
	var reading sync.WaitGroup
	for i := range j.Streams {
		reading.Go(func() {
			select {
			case <-time.After(j.begin(i)):
				saw[i], errs[i] = read(ctx)
			case <-ctx.Done():
				errs[i] = ctx.Err()
			}
		})
	}
	reading.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("stream %d: %w", i+1, err)
		}
	}
	return saw, nil
}

// begin is when stream i begins: evenly in the spread, so that beginnings do not
// pile up, and each at a part of a gap of its own, so that tokens do not either:
//
//	(⌊i/n·spread/gap⌋ + frac(i·φ))·gap
func (j job) begin(i int) time.Duration {
	_, part := math.Modf(float64(i) * math.Phi)
	even := j.Spread * time.Duration(i) / time.Duration(j.Streams)
	return even.Truncate(j.Gap) + time.Duration(part*float64(j.Gap))
}
