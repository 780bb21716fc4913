package archive

import (
	"context"
	"fmt"
	"math"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// A row is a value a window, of one series; NaN where there is none.
type row struct {
	labels model.Metric
	values []float64
}

// A search finds where series were reset. What it asks is of all series that the
// selector finds, and kept.
type search struct {
	a        *Archive
	selector string
	grid     grid
	births   bool // look up what new series begin with

	counts map[model.Fingerprint]row // samples in a window
	inner  map[model.Fingerprint]row // resets between samples of a window
	pairs  map[model.Fingerprint]row // resets between samples of a window and the one before

	last    map[int]map[model.Fingerprint][]histogram    // the last value in a window
	samples map[int]map[model.Fingerprint][]histogram    // all values in a window
	gaps    map[[2]int]map[model.Fingerprint][]histogram // resets from a window to another
}

func newSearch(a *Archive, selector string, r Range, births bool) *search {
	return &search{
		a: a, selector: selector, grid: newGrid(r), births: births,
		last: map[int]map[model.Fingerprint][]histogram{}, samples: map[int]map[model.Fingerprint][]histogram{},
		gaps: map[[2]int]map[model.Fingerprint][]histogram{},
	}
}

// survey asks how many samples and resets each window has.
func (s *search) survey(ctx context.Context) (err error) {
	if s.counts, err = s.rows(ctx, "count_over_time", s.grid.width); err != nil || len(s.counts) == 0 {
		return err
	}
	if s.inner, err = s.rows(ctx, "resets", s.grid.width); err != nil {
		return err
	}
	s.pairs, err = s.rows(ctx, "resets", 2*s.grid.width)
	return err
}

func (s *search) rows(ctx context.Context, function string, width time.Duration) (map[model.Fingerprint]row, error) {
	matrix, err := s.a.steps(ctx, over(function, s.selector, width), v1.Range{Start: s.grid.end(0), End: s.grid.end(s.grid.all - 1), Step: s.grid.width})
	if err != nil {
		return nil, err
	}
	rows := map[model.Fingerprint]row{}
	for _, stream := range matrix {
		values := make([]float64, s.grid.all)
		for i := range values {
			values[i] = math.NaN()
		}
		for _, pair := range stream.Values {
			if i := int(pair.Timestamp.Time().Sub(s.grid.end(0)) / s.grid.width); i >= 0 && i < len(values) {
				values[i] = float64(pair.Value)
			}
		}
		labels, id := identify(stream.Metric)
		rows[id] = row{labels: labels, values: values}
	}
	return rows, nil
}

// at is a value of a row; 0 where there is none.
func at(rows map[model.Fingerprint]row, id model.Fingerprint, window int) float64 {
	values := rows[id].values
	if values == nil || math.IsNaN(values[window]) {
		return 0
	}
	return values[window]
}

// over is a function of a range of samples, or with none they themselves.
func over(function, selector string, width time.Duration) string {
	samples := fmt.Sprintf("%s[%dms]", selector, width.Milliseconds())
	if function == "" {
		return samples
	}
	return function + "(" + samples + ")"
}

// identify leaves out the name, which functions drop.
func identify(m model.Metric) (model.Metric, model.Fingerprint) {
	labels := m.Clone()
	delete(labels, model.MetricNameLabel)
	return labels, labels.Fingerprint()
}

// growth is that of one series.
func (s *search) growth(ctx context.Context, id model.Fingerprint) (growth, error) {
	g := growth{labels: s.counts[id].labels, seen: make([]bool, s.grid.all-s.grid.back)}
	var base histogram
	before := -1 // the window with samples before the one that is looked at
	for i, n := range s.counts[id].values {
		if math.IsNaN(n) {
			continue
		}
		if i >= s.grid.back {
			if g.samples == 0 {
				var err error
				if base, g.born, err = s.beginning(ctx, id, before, i); err != nil {
					return g, err
				}
			}
			lost, err := s.lost(ctx, id, before, i)
			if err != nil {
				return g, err
			}
			g.by = g.by.plus(lost, 1)
			g.samples += int(n)
			g.seen[i-s.grid.back] = true
		}
		before = i
	}
	if g.samples == 0 {
		return g, nil
	}
	last, err := s.lastIn(ctx, id, before)
	g.by = g.by.plus(last, 1).plus(base, -1)
	return g, err
}

// beginning is the value that a series had at the beginning of the range, or, of a
// new one, how much it had counted when it was first seen.
func (s *search) beginning(ctx context.Context, id model.Fingerprint, before, first int) (base histogram, born float64, err error) {
	if before >= 0 {
		base, err = s.lastIn(ctx, id, before)
		return base, 0, err
	}
	if !s.births {
		return base, 0, nil
	}
	values, err := s.allIn(ctx, id, first)
	if len(values) == 0 {
		return base, 0, err
	}
	return base, values[0].count, nil
}

// lost is what a series had counted before its resets inside of a window, and
// before one between it and the window before that has samples, if there is one.
func (s *search) lost(ctx context.Context, id model.Fingerprint, before, i int) (lost histogram, err error) {
	if before >= 0 {
		between, err := s.between(ctx, id, before, i)
		if err != nil {
			return lost, err
		}
		if between > 0 {
			if lost, err = s.lastIn(ctx, id, before); err != nil {
				return lost, err
			}
		}
	}
	if at(s.inner, id, i) == 0 {
		return lost, nil
	}
	values, err := s.allIn(ctx, id, i)
	for k := 1; k < len(values); k++ {
		if values[k].begins(values[k-1]) {
			lost = lost.plus(values[k-1], 1)
		}
	}
	return lost, err
}

// between is how many resets are between the last sample of a window and the
// first of a later one, where no window between them has samples: 0 or 1.
func (s *search) between(ctx context.Context, id model.Fingerprint, before, i int) (float64, error) {
	within := at(s.inner, id, before) + at(s.inner, id, i)
	if before == i-1 {
		return at(s.pairs, id, i) - within, nil
	}
	gap := [2]int{before, i}
	if s.gaps[gap] == nil {
		found, err := s.a.found(ctx, over("resets", s.selector, time.Duration(i-before+1)*s.grid.width), s.grid.end(i))
		if err != nil {
			return 0, err
		}
		s.gaps[gap] = found
	}
	resets, err := s.first(s.gaps[gap], id)
	return resets.count - within, err
}

// lastIn is the last value in a window that has samples.
func (s *search) lastIn(ctx context.Context, id model.Fingerprint, window int) (histogram, error) {
	if s.last[window] == nil {
		found, err := s.a.found(ctx, over("last_over_time", s.selector, s.grid.width), s.grid.end(window))
		if err != nil {
			return histogram{}, err
		}
		s.last[window] = found
	}
	return s.first(s.last[window], id)
}

// allIn are the values in a window.
func (s *search) allIn(ctx context.Context, id model.Fingerprint, window int) ([]histogram, error) {
	if s.samples[window] == nil {
		found, err := s.a.found(ctx, over("", s.selector, s.grid.width), s.grid.end(window))
		if err != nil {
			return nil, err
		}
		s.samples[window] = found
	}
	return s.samples[window][id], nil
}

// first is the only value of a series that must be there.
func (s *search) first(found map[model.Fingerprint][]histogram, id model.Fingerprint) (histogram, error) {
	if len(found[id]) == 0 {
		return histogram{}, fmt.Errorf("the answers of Prometheus at %s contradict each other: samples of %s are counted but not returned", s.a.place, s.selector)
	}
	return found[id][0], nil
}

// found are the values that an expression has at one moment, by series and in
// their order.
func (a *Archive) found(ctx context.Context, expr string, at time.Time) (map[model.Fingerprint][]histogram, error) {
	value, err := a.instant(ctx, expr, at)
	if err != nil {
		return nil, err
	}
	found := map[model.Fingerprint][]histogram{}
	switch value := value.(type) {
	case model.Vector:
		for _, sample := range value {
			_, id := identify(sample.Metric)
			found[id] = append(found[id], valueOf(sample.Value, sample.Histogram))
		}
	case model.Matrix:
		for _, stream := range value {
			_, id := identify(stream.Metric)
			for _, pair := range stream.Values {
				found[id] = append(found[id], valueOf(pair.Value, nil))
			}
			for _, pair := range stream.Histograms {
				found[id] = append(found[id], valueOf(0, pair.Histogram))
			}
		}
	}
	return found, nil
}

func valueOf(v model.SampleValue, h *model.SampleHistogram) histogram {
	if h != nil {
		return fromSample(h)
	}
	return histogram{count: float64(v)}
}
