package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
	"github.com/llm-prober/prober/test/machine"
)

// This file measures which values the prober has of answers that a late read blurs, and how far each is off: one
// probe after another, under different loads. It is started by -values and prints one table.

// The shapes of answers.
const (
	onTime   = "a token at a time" // the role frame goes with the first token, usage and the end with the last
	oneWrite = "one write"         // all of the answer at once, as from a proxy that buffers it
)

// The loads beside the client.
const (
	idle      = "idle"
	busy      = "busy"      // eight processes that never rest
	throttled = "throttled" // a fifth of a processor, see [machine.Throttle]
)

// busyLoops is how many processes make the load that is called busy.
const busyLoops = 8

// A valuesPlan is what -values measures.
type valuesPlan struct {
	job
	shapes, loads []string
	realTime      bool // the client runs before all others (chrt), which is nearly an idle machine
}

func parseValues(args []string, stderr io.Writer) (p valuesPlan, err error) {
	flags := flag.NewFlagSet("accuracy -values", flag.ContinueOnError)
	flags.SetOutput(stderr)
	loads := flags.String("loads", "idle,busy,throttled", "what else runs: idle, busy (eight loops) or throttled")
	flags.IntVar(&p.Probes, "probes", 50, "probes of each kind")
	flags.IntVar(&p.Tokens, "tokens", 50, "tokens of an answer")
	flags.IntVar(&p.Words, "words", 21_000, "words of the prompt")
	flags.DurationVar(&p.Gap, "gap", 20*time.Millisecond, "time between two tokens")
	flags.DurationVar(&p.First, "first", 1500*time.Millisecond, "time from the request to the first token")
	flags.IntVar(&p.Segment, "segment", 1448,
		"bytes of the server's packets at most, as on Ethernet; 0: an answer in one piece is one packet")
	flags.BoolVar(&p.realTime, "real-time", false, "run the client with chrt -f 10, where the machine is not idle")
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	p.Client, p.Streams = kernelTimestamps, 1
	p.shapes, p.loads = []string{oneWrite, onTime}, strings.Split(*loads, ",")
	if p.Probes < 1 || p.Tokens < 2 || p.Gap <= 0 || p.First <= 0 {
		return p, errors.New("want at least 1 probe, 2 tokens, and times above 0")
	}
	return p, nil
}

// runValues measures all, and writes the table to stdout.
func runValues(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	p, err := parseValues(args, stderr)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, valuesHeader(p))
	for _, load := range p.loads {
		for _, shape := range p.shapes {
			t, err := p.measure(ctx, load, shape)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", load, shape, err)
			}
			fmt.Fprint(stdout, t.row(load, shape))
		}
	}
	return nil
}

// measure makes all probes of one kind, each with a server of its own process, under a load.
func (p valuesPlan) measure(ctx context.Context, load, shape string) (t valuesTally, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j := p.job
	j.Shape, j.Client = shape, ""
	s, err := startServer(ctx, j)
	if err != nil {
		return t, err
	}
	enter, lift, err := p.under(ctx, load)
	if err != nil {
		return t, err
	}
	j.Client, j.URL = p.Client, s.url
	client, err := child(ctx, enter, j)
	if err != nil {
		lift()
		return t, err
	}
	out, err := client.Output()
	lift()
	if err != nil {
		return t, err
	}
	var r valuesReport
	if err := gob.NewDecoder(bytes.NewReader(out)).Decode(&r); err != nil {
		return t, err
	}
	w, _, err := s.stop()
	if err != nil {
		return t, err
	}
	t.cpu = r.CPU / time.Duration(len(r.Probes))
	for _, v := range r.Probes {
		t.add(v, w[v.Trace])
	}
	return t, nil
}

// under begins a load. A shell that runs enter before it becomes the client is under it; lift ends it.
func (p valuesPlan) under(ctx context.Context, load string) (enter string, lift func(), err error) {
	if p.realTime {
		enter = "chrt -f -p 10 $$ >/dev/null; "
	}
	switch load {
	case idle:
		return enter, func() {}, nil
	case throttled:
		group, lift, err := machine.Throttle()
		return enter + group, lift, err
	case busy:
		var loops []*exec.Cmd
		for range busyLoops {
			loop := exec.CommandContext(ctx, "/bin/sh", "-c", "while :; do :; done")
			if err := loop.Start(); err != nil {
				return "", nil, err
			}
			loops = append(loops, loop)
		}
		return enter, func() {
			for _, loop := range loops {
				_ = loop.Process.Kill()
				_ = loop.Wait()
			}
		}, nil
	}
	return "", nil, fmt.Errorf("load %q: want idle, busy or throttled", load)
}

// A valuesReport is what the client of -values reports at its end.
type valuesReport struct {
	Probes []values
	CPU    time.Duration // of the process, for all probes
}

// values are what one probe published. Times are -1 where it had no sample.
type values struct {
	Trace              string
	Start              int64 // in Unix nanoseconds
	TTFT, E2EL, MaxGap time.Duration
	Delay              time.Duration // the longest time that bytes lay unread
}

// probeInTurn does the job of the client of -values: it makes one probe after another.
func (j job) probeInTurn(ctx context.Context, out io.Writer) error {
	dialect, err := wire.Lookup("openai-chat")
	if err != nil {
		return err
	}
	stream.EnableTimestamps() // as the prober does
	target := newTarget(j, dialect)
	ask := wire.Ask{Model: model, Prompt: strings.Repeat("word ", j.Words), MaxTokens: j.Tokens}
	before, err := spent()
	if err != nil {
		return err
	}
	var results []*probe.Result
	for range j.Probes {
		r := target.Probe(ctx, ask)
		if r.Outcome != probe.OK {
			return fmt.Errorf("%s: %w", r.Outcome, r.Err)
		}
		results = append(results, r)
	}
	after, err := spent()
	if err != nil {
		return err
	}
	report := valuesReport{CPU: after - before}
	for _, r := range results {
		report.Probes = append(report.Probes, valuesOf(r))
	}
	return gob.NewEncoder(out).Encode(report)
}

// valuesOf returns what a probe published.
func valuesOf(r *probe.Result) values {
	sample := func(d time.Duration, ok bool) time.Duration {
		if !ok {
			return -1
		}
		return d
	}
	delay, _ := r.Timeline.MaxReadDelay()
	return values{
		Trace: r.TraceID, Start: r.Start.UnixNano(), Delay: delay,
		TTFT: sample(r.TTFT()), E2EL: sample(r.E2EL()), MaxGap: sample(r.MaxGap()),
	}
}

// A tally counts the probes that have a value, and how far it is off at most.
type tally struct {
	with, wrong int           // wrong: off by more than 5%
	most        time.Duration // the largest error
	mostPart    float64       // the largest error as a part of the true value
}

// add adds a value. The true value lies between least and most, which are of the server's log.
func (t *tally) add(value, least, most time.Duration) {
	if value < 0 {
		return
	}
	t.with++
	off := max(0, least-value, value-most)
	part := float64(off) / float64(max(1, most))
	t.most, t.mostPart = max(t.most, off), max(t.mostPart, part)
	// What does not fit into the client's receive window follows a Write a little later: 1 ms is no error.
	if part > 0.05 && off > time.Millisecond {
		t.wrong++
	}
}

func (t tally) String() string {
	return fmt.Sprintf("%s, %.2g%%, %d", short(t.most), 100*t.mostPart, t.wrong)
}

// A valuesTally is all probes of one kind.
type valuesTally struct {
	probes, late       int // late: bytes lay unread for more than 250 µs
	ttft, e2el, maxGap tally
	cpu                time.Duration // of a probe
}

// add compares what a probe published with what the server wrote. A frame left the server between the moments before
// and after its Write.
func (t *valuesTally) add(v values, sent []written) {
	t.probes++
	if v.Delay > 250*time.Microsecond {
		t.late++
	}
	if len(sent) == 0 {
		return
	}
	first, last := sent[0], sent[len(sent)-1]
	t.ttft.add(v.TTFT, time.Duration(first.Before-v.Start), time.Duration(first.After-v.Start))
	t.e2el.add(v.E2EL, time.Duration(last.Before-v.Start), time.Duration(last.After-v.Start))
	least, most := time.Duration(0), time.Duration(0)
	for i := 1; i < len(sent); i++ {
		least = max(least, time.Duration(sent[i].Before-sent[i-1].After))
		most = max(most, time.Duration(sent[i].After-sent[i-1].Before))
	}
	if first == last { // one write, in which the kernel may have sent several packets
		most = time.Duration(first.After - first.Before)
	}
	t.maxGap.add(v.MaxGap, least, most)
}

func valuesHeader(p valuesPlan) string {
	return fmt.Sprintf("%s: %s, %d cores, Linux %s, %s. %d probes of each kind, %d words of "+
		"prompt, first token after %v, %d tokens, %v apart, packets of %d bytes; real time: %t.\n"+
		"off: the largest error, its part of the true value, and how many are off by more than 5%%.\n\n"+
		"| load | answer | read late | with TTFT | off | with E2EL | off | with max gap | off | CPU of a probe |\n"+
		"|"+strings.Repeat("---|", 10)+"\n",
		time.Now().UTC().Format(time.DateOnly), processor(), runtime.NumCPU(), release(), runtime.Version(), p.Probes,
		p.Words, p.First, p.Tokens, p.Gap, p.Segment, p.realTime)
}

func (t valuesTally) row(load, shape string) string {
	part := func(n int) string { return percent(share(n, t.probes)) }
	return fmt.Sprintf("| %s | %s | %s | %s | %v | %s | %v | %s | %v | %s |\n",
		load, shape, part(t.late), part(t.ttft.with), t.ttft, part(t.e2el.with), t.e2el,
		part(t.maxGap.with), t.maxGap, short(t.cpu))
}
