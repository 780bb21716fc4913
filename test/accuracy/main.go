// Command accuracy measures how exactly clients see when the tokens of an answer
// were sent: the server, in a process of its own, writes down each Write, and
// its log is held against what a client saw, in another process. The clients are a
// bare reader, which does nothing but Read and note the time, the prober with its
// own timestamps, and the prober with the kernel's.
//
// What it says is a measurement; only a stream that failed is a failure.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	asked, err := doJob(ctx)
	switch {
	case asked:
	case len(os.Args) > 1 && os.Args[1] == "-values":
		err = runValues(ctx, os.Args[2:], os.Stdout, os.Stderr)
	default:
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

// A plan is what is measured.
type plan struct {
	job // with the tokens of a stream that is not the only one

	streams  []int
	clients  []string
	alone    int // tokens of a stream that is the only one
	runs     int
	throttle bool // the clients have a fifth of a processor
	itl      bool // only what the prober says of ITL is measured
}

func parse(args []string, stderr io.Writer) (p plan, err error) {
	flags := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	streams := flags.String("streams", "1,64,256,512", "numbers of streams at once")
	flags.IntVar(&p.Tokens, "tokens", 400, "tokens of a stream")
	flags.IntVar(&p.alone, "tokens-alone", 500, "tokens of a stream that is the only one")
	flags.DurationVar(&p.Gap, "gap", 20*time.Millisecond, "time between two tokens of a stream")
	flags.DurationVar(&p.Spread, "spread", time.Second, "time in which the streams begin")
	flags.IntVar(&p.runs, "runs", 5, "times that all is measured")
	flags.BoolVar(&p.throttle, "throttle", false, "give the clients 20 ms of each 100 (takes root)")
	flags.BoolVar(&p.itl, "itl", false, "measure only what the prober with kernel timestamps says of ITL")
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	p.clients = []string{bareReader, userTimestamps, kernelTimestamps} // in the order in which they are measured
	if p.itl {
		p.clients = p.clients[2:]
	}
	for text := range strings.SplitSeq(*streams, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return p, fmt.Errorf("-streams=%q: want numbers above 0, for example 1,64", *streams)
		}
		p.streams = append(p.streams, n)
	}
	if min(p.Tokens, p.alone) < 2 || p.runs < 1 || p.Gap <= 0 || p.Spread < 0 {
		return p, errors.New("want at least 2 tokens, 1 run, and a gap above 0")
	}
	return p, nil
}

// run measures all, and writes the tables to stdout.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	p, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var all []*measured
	for n := range p.runs {
		for _, streams := range p.streams {
			for _, client := range p.clients {
				m, err := measure(ctx, p, client, streams)
				if err != nil {
					return fmt.Errorf("%s, %d streams: %w", client, streams, err)
				}
				all = append(all, m)
				fmt.Fprintf(stderr, "run %d of %d: %v\n", n+1, p.runs, m)
			}
		}
	}
	fmt.Fprintf(stdout, "%s\n\n%s\n", p.header(all), itlTable(all))
	if p.itl {
		return nil
	}
	fmt.Fprintf(stdout, "%s\n", table(all))
	return nil
}

// header names what the figures hold for. Others are other processes and machines.
func (p plan) header(all []*measured) string {
	var others []float64
	for _, m := range all {
		others = append(others, 100*m.noise())
	}
	return fmt.Sprintf("%s: %s, %d cores, Linux %s, %s. "+
		"Tokens %v apart, %d a stream, %d of a single one; the streams begin within %v. "+
		"%d runs, the clients one after the other in each. Others took %.0f%% of the processors (median), %.0f%% at most.",
		time.Now().UTC().Format(time.DateOnly), processor(), runtime.NumCPU(), release(), runtime.Version(),
		p.Gap, p.Tokens, p.alone, p.Spread,
		p.runs, median(others), slices.Max(others))
}

// processor returns the model of the processors, as the kernel calls it.
func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo") // a line in a header: it may lack
	_, after, _ := strings.Cut(string(data), "model name")
	line, _, _ := strings.Cut(after, "\n")
	return cmp.Or(strings.Trim(line, "\t :"), runtime.GOARCH)
}

// release returns the kernel's version.
func release() string {
	data, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	version, _, _ := strings.Cut(strings.TrimSpace(string(data)), "-")
	return version
}
