package telemetry

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// hundred is a result of 100 tokens, one a frame.
func hundred() *probe.Result {
	r := succeeded5()
	r.Usage.Output, r.Usage.Total = wire.Tokens(100), wire.Tokens(200)
	r.Tokens = nil
	for i := range 100 {
		at := ms(600+18*float64(i)) + time.Duration(i*i)*time.Microsecond
		r.Tokens = append(r.Tokens, probe.Arrival{At: at, Read: uint32(i), N: 1})
	}
	r.Timeline.Finish = r.Timeline.Tokens[99].At
	r.Elapsed = r.Timeline.Finish + ms(5)
	return r
}

func BenchmarkRecord(b *testing.B) {
	for _, of := range []struct {
		name string
		to   *Recorder
	}{
		{"prometheus", scrapedOnly(Build{})},
		{"and otlp", newRecorder(Options{}, newMeters(""))},
		{"and otlp with GenAI", newRecorder(Options{GenAI: true}, newMeters(""))},
	} {
		b.Run(of.name, func(b *testing.B) {
			of.to.Set(fixedTarget())
			r := hundred()
			b.ReportAllocs()
			for b.Loop() {
				of.to.Record(r)
			}
		})
	}
}
