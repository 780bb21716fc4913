package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/llm-prober/prober/test/machine"
)

// A measured is what one client made of a number of streams.
type measured struct {
	client  string
	streams int
	joined

	gap, brief, first spread // errors of gaps, of those between brief Writes, and of TTFT
	lateness          spread // of the server
	tokens            figures
	interrupted       float64 // share of the other gaps

	cpu, server time.Duration // processor time of both processes
	peak        float64       // memory of the client in bytes
	tries       int           // how often it was measured before others left it alone
	others      float64       // share of the processors that went to other processes, stolen included
	stolen      float64       // share that the hypervisor gave to other machines
}

// perThousand is what 1,000 token frames cost the client, everything included.
func (m *measured) perThousand() time.Duration {
	return m.cpu * 1000 / time.Duration(m.frames)
}

func (m *measured) String() string {
	return fmt.Sprintf("%d streams, %s: gap error %s, %s, %s (p50, p99, max), CPU %s per 1,000 frames, peak %.0f MB; "+
		"server late %s (p99); others took %.0f%%",
		m.streams, m.client, short(m.gap.p50), short(m.gap.p99), short(m.gap.max), short(m.perThousand()), m.peak/mega,
		short(m.lateness.p99), 100*m.noise())
}

// noise is the share of the processors that was not there for what is measured. What the
// host stole may be counted as if the process on whose turn it did had used it.
func (m *measured) noise() float64 { return max(m.others, m.stolen) }

// quietest measures until others leave the processors alone, but not more than again
// times again, and returns what was disturbed least. That says nothing of what was
// found: no figure is better for being chosen.
func quietest(again int, measure func() (*measured, error)) (best *measured, err error) {
	for try := 1; try <= again+1; try++ {
		m, err := measure()
		if err != nil {
			return nil, err
		}
		if best == nil || m.noise() < best.noise() {
			best = m
		}
		best.tries = try
		if best.noise() <= quiet {
			break
		}
	}
	return best, nil
}

// measure lets a client read a number of streams of a server of their own.
func measure(ctx context.Context, p plan, client string, streams int) (*measured, error) {
	s, err := startServer(ctx, p, streams)
	if err != nil {
		return nil, err
	}
	defer s.kill()
	m := &measured{client: client, streams: streams}
	r, err := m.beside(s, func() (report, error) {
		return ask(ctx, job{Client: client, URL: s.url, Streams: streams, Tokens: p.tokensOf(streams), Gap: p.gap, Spread: p.spread}, p.throttle)
	})
	if err != nil {
		return nil, err
	}
	w, cpu, err := s.stop()
	if err != nil {
		return nil, err
	}
	if m.joined, err = join(r.Streams, w); err != nil {
		return nil, err
	}
	m.cpu, m.peak, m.server = r.CPU, r.Peak, cpu
	m.interrupted = 1 - float64(len(m.between))/float64(max(1, len(m.gaps)))
	m.gap, m.brief, m.first, m.lateness = spreadOf(m.gaps), spreadOf(m.between), spreadOf(m.ttft), spreadOf(m.late)
	m.tokens = m.figures()
	m.gaps, m.between, m.ttft, m.late, m.itl, m.truth = nil, nil, nil, nil, nil, nil
	return m, nil
}

// A usage is what processors spent so far.
type usage struct {
	at                   time.Time
	busy, stolen, served time.Duration // on anything at all; on other machines; on the server
}

func used(s *server) (u usage, err error) {
	var errs [3]error
	u.at = time.Now()
	u.busy, errs[0] = machine.Busy()
	u.stolen, errs[1] = machine.Stolen()
	u.served, errs[2] = machine.CPU(s.cmd.Process.Pid)
	return u, errors.Join(errs[:]...)
}

// beside does the work, and finds what others took of the processors meanwhile.
func (m *measured) beside(s *server, work func() (report, error)) (report, error) {
	before, err := used(s)
	if err != nil {
		return report{}, err
	}
	r, err := work()
	if err != nil {
		return r, err
	}
	after, err := used(s)
	share := func(d time.Duration) float64 {
		return max(0, d.Seconds()/(after.at.Sub(before.at).Seconds()*float64(runtime.NumCPU())))
	}
	m.others, m.stolen = share(after.busy-before.busy-(after.served-before.served)-r.CPU), share(after.stolen-before.stolen)
	return r, err
}

// ask has a client do a job, in a process of its own: this program. Throttled it has a fifth
// of a processor: 20 of each 100 ms, and a neighbour that uses up what it leaves.
func ask(ctx context.Context, j job, throttle bool) (r report, err error) {
	enter := ""
	if throttle {
		var lift func()
		if enter, lift, err = machine.Throttle(); err != nil {
			return r, err
		}
		defer lift()
	}
	client, err := child(ctx, enter, jobVariable, j)
	if err != nil {
		return r, err
	}
	var out, said bytes.Buffer
	client.Stdout, client.Stderr = &out, &said
	if err := client.Run(); err != nil {
		return r, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return r, gob.NewDecoder(&out).Decode(&r)
}
