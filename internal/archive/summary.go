package archive

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A Record is what is stored of a selection in a range.
type Record struct {
	Selection
	Range   Range
	Summary report.Summary

	quantities []quantity // TTFT, TPOT, ITL, E2EL
	scrapes    int        // samples of a series in the range; 0 if nothing is stored
	probes     []growth
	tainted    float64 // probes that were read late
}

// A quantity is one histogram, in one of its two forms.
type quantity struct {
	name, metric string

	histogram

	classic bool
}

// Records reads what is stored of all that a filter asks for, sorted by target.
// A target that was asked for and has nothing is an error that says what there
// is; so is a range without any data.
func (a *Archive) Records(ctx context.Context, f Filter, r Range) ([]Record, error) {
	selections, err := a.selections(ctx, f, r)
	if err != nil {
		return nil, err
	}
	var records []Record
	for _, s := range selections {
		record, err := a.read(ctx, s, r)
		if err != nil {
			return nil, err
		}
		if record.scrapes > 0 {
			records = append(records, record)
		}
	}
	records = busy(records)
	var missing []string
	for _, target := range f.Targets {
		if !slices.ContainsFunc(records, func(r Record) bool { return r.Target == target }) {
			missing = append(missing, target)
		}
	}
	if missing != nil || len(records) == 0 {
		return nil, a.absent(ctx, f, missing, r)
	}
	return records, nil
}

// busy leaves out records without requests of targets that have others, and names
// those apart that are left of one target.
func busy(records []Record) []Record {
	of, made := map[string]int{}, map[string]int{}
	asked := func(r Record) int { return r.Summary.Succeeded() + r.Summary.Failed() }
	for _, r := range records {
		made[r.Target] += asked(r)
	}
	records = slices.DeleteFunc(records, func(r Record) bool { return asked(r) == 0 && made[r.Target] > 0 })
	for _, r := range records {
		of[r.Target]++
	}
	for i := range records {
		r := &records[i]
		r.alone = of[r.Target] == 1
		r.Summary.Target = r.name()
		if !r.alone {
			r.Summary.Warnings = append(r.Summary.Warnings, "this target has several models or prompts in this range; each is listed on its own")
		}
	}
	return records
}

// read reads one selection. Its record has no scrapes where nothing is stored.
func (a *Archive) read(ctx context.Context, s Selection, r Range) (Record, error) {
	record := Record{Selection: s, Range: r, Summary: report.Summary{
		Target: s.Target, Start: r.From, Duration: r.Length(), Outcomes: map[probe.Outcome]int{}, Skipped: map[probe.Skip]int{},
	}}
	probes, err := a.growths(ctx, a.selector(probesTotal, s), r, true)
	if err != nil || len(probes) == 0 {
		return record, err
	}
	record.probes = probes
	for _, g := range probes {
		record.Summary.Outcomes[probe.Outcome(g.labels["outcome"])] += whole(g.by.count)
		record.scrapes = max(record.scrapes, g.samples)
	}
	err = errors.Join(a.counters(ctx, &record), a.histograms(ctx, &record))
	record.warn()
	return record, err
}

func whole(v float64) int { return int(math.Round(v)) }

// counters reads what is not a latency.
func (a *Archive) counters(ctx context.Context, r *Record) error {
	skips, err := a.growths(ctx, a.selector(skippedTotal, r.Selection), r.Range, false)
	if err != nil {
		return err
	}
	for _, g := range skips {
		if n := whole(g.by.count); n > 0 {
			r.Summary.Skipped[probe.Skip(g.labels["reason"])] += n
		}
	}
	tokens, err := a.growths(ctx, a.selector(tokensTotal, r.Selection, `kind=~"prompt|output"`), r.Range, false)
	for _, g := range tokens {
		switch g.labels["kind"] {
		case "prompt":
			r.Summary.Input += whole(g.by.count)
		case "output":
			r.Summary.Output += whole(g.by.count)
		}
	}
	if err != nil {
		return err
	}
	tainted, err := a.total(ctx, a.selector(taintedTotal, r.Selection), r.Range)
	r.tainted = tainted.count
	return err
}

// histograms reads the latencies: in native buckets, unless classic ones know of
// more requests.
func (a *Archive) histograms(ctx context.Context, r *Record) error {
	r.quantities = []quantity{
		{name: "TTFT", metric: ttftSeconds}, {name: "TPOT", metric: tpotSeconds}, {name: "ITL", metric: itlSeconds}, {name: "E2EL", metric: e2elSeconds},
	}
	for i := range r.quantities {
		q := &r.quantities[i]
		native, err := a.total(ctx, a.selector(q.metric, r.Selection), r.Range)
		if err != nil {
			return err
		}
		q.histogram = native
	}
	if e2el := r.quantities[3]; whole(e2el.count) < r.Summary.Succeeded() {
		for i := range r.quantities {
			if err := a.fallback(ctx, r, &r.quantities[i]); err != nil {
				return err
			}
		}
	}
	s := &r.Summary
	for i, d := range []*report.Distribution{&s.TTFT, &s.TPOT, &s.ITL, &s.E2EL} {
		*d = r.quantities[i].distribution()
	}
	return nil
}

// total is the sum of the growth of all series that a selector finds.
func (a *Archive) total(ctx context.Context, selector string, r Range) (histogram, error) {
	var sum histogram
	all, err := a.growths(ctx, selector, r, false)
	for _, g := range all {
		sum = sum.plus(g.by, 1)
	}
	return sum, err
}

// fallback takes classic buckets where they know more than the native ones.
func (a *Archive) fallback(ctx context.Context, r *Record, q *quantity) error {
	counted, err := a.total(ctx, a.selector(q.metric+"_count", r.Selection), r.Range)
	if err != nil || counted.count == 0 {
		return err
	}
	native := q.count
	if q.classic = counted.count > native; q.classic {
		if q.histogram, err = a.classic(ctx, q.metric, r); err != nil {
			return err
		}
	}
	if native > 0 {
		form := map[bool]string{false: "native", true: "classic"}[q.classic]
		r.Summary.Warnings = append(r.Summary.Warnings, q.name+" has native buckets of "+format.Grouped(whole(native))+
			" samples and classic ones of "+format.Grouped(whole(counted.count))+": the "+form+" ones are taken")
	}
	return nil
}

// classic reads the classic buckets of a histogram.
func (a *Archive) classic(ctx context.Context, metric string, r *Record) (histogram, error) {
	sum, err := a.total(ctx, a.selector(metric+"_sum", r.Selection), r.Range)
	if err != nil {
		return histogram{}, err
	}
	series, err := a.growths(ctx, a.selector(metric+"_bucket", r.Selection), r.Range, false)
	if err != nil {
		return histogram{}, err
	}
	upTo := map[float64]float64{}
	for _, g := range series {
		if le, err := strconv.ParseFloat(string(g.labels[model.BucketLabel]), 64); err == nil {
			upTo[le] += g.by.count
		}
	}
	return fromCumulative(upTo, sum.count), nil
}

// fromCumulative makes a histogram of how many values are up to each bound, the
// last of which is infinite.
func fromCumulative(upTo map[float64]float64, sum float64) histogram {
	h := histogram{sum: sum, count: upTo[math.Inf(1)], explicit: map[bounds]float64{}}
	var list []bucket
	for le, n := range upTo {
		list = append(list, bucket{bounds{upper: le}, n})
	}
	slices.SortFunc(list, func(a, b bucket) int { return cmp.Compare(a.upper, b.upper) })
	lower, below := 0.0, 0.0
	for _, b := range list {
		h.put(bounds{lower, b.upper}, max(b.n-below, 0))
		lower, below = b.upper, b.n
	}
	return h
}
