package main

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/llm-prober/prober/internal/wire"
	"github.com/llm-prober/prober/test/machine"
)

// jobVariable holds a job, as JSON: a process that has it in its environment is the
// server or a client, and nothing else. So its processor time and its memory are theirs.
const jobVariable = "PROBER_ACCURACY_JOB"

// A job is what a child process is to do.
type job struct {
	Client  string // one of clients; empty for the server
	URL     string // of the server
	Streams int
	Tokens  int           // of an answer
	Gap     time.Duration // between two of them
	Spread  time.Duration // in which the streams begin

	// Of -values, see values.go.
	Shape  string        // of the answers; empty: [onTime]
	Probes int           // one after another; 0: the streams above instead
	Words  int           // of the prompt
	First  time.Duration // from a request to its first token, at least; 0: [first]

	Segment int // bytes that a packet of the server has at most; 0: as many as loopback takes
}

// The clients.
const (
	bareReader       = "bare reader"
	userTimestamps   = "prober, user timestamps"
	kernelTimestamps = "prober, kernel timestamps"
)

// model is the name of the server's model, and first the time from a request to its first token, at least.
const (
	model = "meta-llama/Llama-3.1-8B-Instruct"
	first = time.Second
)

// child returns a command that runs this program with a job. Its standard error is ours. Before is a text for a shell
// that runs first, for example to enter a control group; empty for none.
func child(ctx context.Context, before string, j job) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(j)
	cmd := exec.CommandContext(ctx, program)
	if before != "" {
		cmd = exec.CommandContext(ctx, "/bin/sh", "-c", before+`exec "$0"`, program)
	}
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	return cmd, err
}

// doJob does the job in the environment of this process; asked is false if there is none.
func doJob(ctx context.Context) (asked bool, err error) {
	text, asked := os.LookupEnv(jobVariable)
	if !asked {
		return false, nil
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return true, fmt.Errorf("job: %w", err)
	}
	if j.Client == "" {
		return true, servePaced(j, os.Stdin, os.Stdout)
	}
	if j.Probes > 0 {
		return true, j.probeInTurn(ctx, os.Stdout)
	}
	return true, j.report(ctx, os.Stdout)
}

// A report is what a client writes at its end.
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

// report does the job of a client: it reads all streams, and writes its report to out.
func (j job) report(ctx context.Context, out io.Writer) error {
	dialect, err := wire.Lookup("openai-chat")
	if err != nil {
		return err
	}
	ask := wire.Ask{Model: model, Prompt: strings.Repeat("word ", 16), MaxTokens: j.Tokens}
	client := newProber
	if j.Client == bareReader {
		client = newBare
	}
	read, err := client(j, dialect, ask)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, j.spans()+time.Minute)
	defer cancel()
	saw, err := j.readAll(ctx, read)
	if err != nil {
		return err
	}
	var r report
	if r.CPU, err = spent(); err != nil {
		return err
	}
	if r.Peak, err = machine.Memory(os.Getpid(), "VmHWM"); err != nil {
		return err
	}
	for _, f := range saw {
		r.Streams = append(r.Streams, f())
	}
	return gob.NewEncoder(out).Encode(r)
}

// spent returns the processor time that this process has used.
func spent() (time.Duration, error) {
	var used syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), err
}

// spans returns about how long the job takes.
func (j job) spans() time.Duration {
	return j.Spread + first + time.Duration(j.Tokens)*j.Gap
}

// readAll reads all streams of the job. The error is that of the first that failed.
func (j job) readAll(ctx context.Context, read reader) ([]func() seen, error) {
	saw, errs := make([]func() seen, j.Streams), make([]error, j.Streams)
	var reading sync.WaitGroup
	for i := range j.Streams {
		reading.Go(func() {
			time.Sleep(j.begin(i))
			saw[i], errs[i] = read(ctx)
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

// begin returns when stream i begins: evenly in the spread, so that beginnings do not
// pile up, and each at a part of a gap of its own, so that tokens do not either:
//
//	(⌊i/n·spread/gap⌋ + frac(i·φ))·gap
func (j job) begin(i int) time.Duration {
	_, part := math.Modf(float64(i) * math.Phi)
	even := j.Spread * time.Duration(i) / time.Duration(j.Streams)
	return even.Truncate(j.Gap) + time.Duration(part*float64(j.Gap))
}
