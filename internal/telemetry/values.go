package telemetry

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

type source = func(probe.Description, *probe.Result, func(sample))

// exemplar makes [once] keep its sample as an exemplar.
const exemplar = true

// once is a duration of the results that a condition admits.
func once(duration func(*probe.Result) (time.Duration, bool), admit func(*probe.Result) bool, marked bool) source {
	return func(_ probe.Description, r *probe.Result, to func(sample)) {
		if d, ok := duration(r); ok && admit(r) {
			to(sample{value: d.Seconds(), marked: marked})
		}
	}
}

func always(*probe.Result) bool { return true }

func succeeded(r *probe.Result) bool { return r.Outcome == probe.OK }

// uncached admits successes whose prompt was not cached contrary to plan.
func uncached(r *probe.Result) bool { return succeeded(r) && r.Cache != probe.CacheContaminated }

func reasoned(r *probe.Result) bool { return r.Reasoned || r.Hidden }

// validTTFT admits successes whose first token was seen and not cached contrary to plan.
func validTTFT(r *probe.Result) bool { return succeeded(r) && r.TTFTValid() }

// gaps are durations that a result has many of. The first of the longest is marked.
func gaps(all func(*probe.Result) iter.Seq[time.Duration]) source {
	return func(_ probe.Description, r *probe.Result, to func(sample)) {
		if !succeeded(r) {
			return
		}
		longest := time.Duration(-1)
		for d := range all(r) {
			longest = max(longest, d)
		}
		for d := range all(r) {
			to(sample{value: d.Seconds(), marked: d == longest})
			if d == longest {
				longest = -1
			}
		}
	}
}

func count(number func(*probe.Result) int) source {
	return func(_ probe.Description, r *probe.Result, to func(sample)) { to(sample{value: float64(number(r))}) }
}

// classed counts results by a label; those with an empty value are not counted.
func classed[T ~string](class func(*probe.Result) T) source {
	return func(_ probe.Description, r *probe.Result, to func(sample)) {
		if value := class(r); value != "" {
			to(sample{at: point{string(value)}, value: 1})
		}
	}
}

const phaseDNS, phaseConnect, phaseTLS, phaseWrite, phaseHeaders = "dns", "connect", "tls", "write", "headers"

func phaseLengths(_ probe.Description, r *probe.Result, to func(sample)) {
	if !succeeded(r) || r.OtherLength {
		return
	}
	phase := func(name string, d time.Duration, ok bool) {
		if ok {
			to(sample{at: point{name}, value: d.Seconds()})
		}
	}
	p := r.Phases
	phase(phaseDNS, p.DNS, p.DNS > 0)
	phase(phaseConnect, p.Connect, p.Connect > 0)
	phase(phaseTLS, p.TLS, p.TLS > 0)
	write, ok := p.Write()
	phase(phaseWrite, write, ok)
	wait, ok := p.Wait()
	phase(phaseHeaders, wait, ok)
}

func failedSeconds(_ probe.Description, r *probe.Result, to func(sample)) {
	if !succeeded(r) {
		to(sample{at: point{string(r.Outcome)}, value: r.Elapsed.Seconds()})
	}
}

// scheduleDelay has no value for a probe that was not scheduled: a person asked for it.
func scheduleDelay(r *probe.Result) (time.Duration, bool) { return r.ScheduleDelay(), !r.Due.IsZero() }

const kindPrompt, kindCached, kindOutput, kindReasoning = "prompt", "cached", "output", "reasoning"

func tokens(_ probe.Description, r *probe.Result, to func(sample)) {
	known(kindPrompt, r.Usage.Prompt, to)
	known(kindCached, r.Usage.Cached, to)
	known(kindOutput, r.Usage.Generated(), to)
	known(kindReasoning, r.Usage.Reasoning, to)
}

func known(kind string, c wire.Count, to func(sample)) {
	if c.Known {
		to(sample{at: point{kind}, value: float64(c.N)})
	}
}

func cacheState(r *probe.Result) probe.CacheState {
	if !succeeded(r) {
		return ""
	}
	return cmp.Or(r.Cache, probe.CacheUnknown)
}

func readDelays(_ probe.Description, r *probe.Result, to func(sample)) {
	for _, d := range r.ReadDelays() {
		to(sample{value: d.Seconds()})
	}
}

const verdictGood, verdictBad = "good", "bad"

func verdicts(t probe.Description, r *probe.Result, to func(sample)) {
	for _, o := range t.Objectives {
		good, bad := o.Events(r)
		if good > 0 {
			to(sample{at: point{valid(o.Name), verdictGood}, value: float64(good)})
		}
		if bad > 0 {
			to(sample{at: point{valid(o.Name), verdictBad}, value: float64(bad)})
		}
	}
}

func texts[T ~string](all []T) []string {
	var texts []string
	for _, value := range all {
		texts = append(texts, string(value))
	}
	return texts
}

func failures() []string {
	return slices.DeleteFunc(texts(probe.Outcomes()), func(name string) bool { return name == string(probe.OK) })
}
