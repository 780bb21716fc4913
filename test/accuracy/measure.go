package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/llm-prober/prober/test/machine"
)

// A measured is what one client made of a number of streams.
type measured struct {
	client  string
	streams int
	joined

	cpu, server time.Duration // processor time of both processes
	peak        float64       // memory of the client in bytes
	others      float64       // share of the processors that went to other processes, stolen included
	stolen      float64       // share that the hypervisor gave to other machines
}

// perThousand returns what 1,000 token frames cost the client, everything included.
func (m *measured) perThousand() time.Duration {
	return m.cpu * 1000 / time.Duration(m.frames)
}

func (m *measured) String() string {
	return fmt.Sprintf("%d streams, %s: gap error %s, %s, %s (p50, p99, max), CPU %s per 1,000 frames, peak %.0f MB; "+
		"server late %s (p99); others took %.0f%%",
		m.streams, m.client, short(m.gaps.p50), short(m.gaps.p99), short(m.gaps.max), short(m.perThousand()), m.peak/mega,
		short(m.late.p99), 100*m.noise())
}

// noise returns the share of the processors that was not there for what is measured. What the
// host stole may be counted as if the process on whose turn it did had used it.
func (m *measured) noise() float64 { return max(m.others, m.stolen) }

// measure lets a client read a number of streams of a server of their own.
func measure(ctx context.Context, p plan, client string, streams int) (*measured, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the server
	defer cancel()
	j := p.job
	j.Streams = streams
	if streams == 1 {
		j.Tokens = p.alone
	}
	s, err := startServer(ctx, j)
	if err != nil {
		return nil, err
	}
	j.Client, j.URL = client, s.url
	before, err := used(s)
	if err != nil {
		return nil, err
	}
	r, err := ask(ctx, j, p.throttle)
	if err != nil {
		return nil, err
	}
	after, err := used(s)
	if err != nil {
		return nil, err
	}
	w, cpu, err := s.stop()
	if err != nil {
		return nil, err
	}
	share := func(d time.Duration) float64 {
		return max(0, d.Seconds()/(after.at.Sub(before.at).Seconds()*float64(runtime.NumCPU())))
	}
	m := &measured{client: client, streams: streams, cpu: r.CPU, peak: r.Peak, server: cpu}
	m.stolen = share(after.stolen - before.stolen)
	m.others = share(after.busy - before.busy - (after.served - before.served) - r.CPU)
	m.joined, err = join(r.Streams, w)
	return m, err
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

// ask runs a client that does a job, in its own process. If throttle is set, the client has 20 of each 100 ms of one
// processor, and a neighbour uses the rest.
func ask(ctx context.Context, j job, throttle bool) (r report, err error) {
	enter := ""
	if throttle {
		var lift func()
		if enter, lift, err = machine.Throttle(); err != nil {
			return r, err
		}
		defer lift()
	}
	client, err := child(ctx, enter, j)
	if err != nil {
		return r, err
	}
	out, err := client.Output()
	if err != nil {
		return r, err
	}
	return r, gob.NewDecoder(bytes.NewReader(out)).Decode(&r)
}
