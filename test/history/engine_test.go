package history

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/tsdb"
)

// A world is a Prometheus with the rules, in simulated time.
//
// It evaluates a rule for many hours at once, by a range query at the interval of
// its group, and then the rule after it: that gives the samples which one
// evaluation after the other gives, in a tenth of the time. What an alert makes
// of them, its pending and firing, is Prometheus' own.
type world struct {
	db      *tsdb.DB
	engine  *promql.Engine
	groups  []*rules.Group // in the order of the file
	targets []*watched
	fired   []*episode
	open    map[string]*episode // the latest of each alert
}

// An episode is a time in which an alert fired without a break.
type episode struct {
	alert, target string
	labels        labels.Labels
	from, to      time.Time
}

// newWorld is a Prometheus with an empty database and the rules of a file.
func newWorld(t *testing.T, rulesFile string) *world {
	t.Helper()
	options := tsdb.DefaultOptions()
	options.WALSegmentSize = -1 // no log: nothing outlives the test
	options.MinBlockDuration = (10_000 * time.Hour).Milliseconds()
	options.MaxBlockDuration = options.MinBlockDuration
	options.RetentionDuration = 0
	db, err := tsdb.Open(t.TempDir(), nil, nil, options, tsdb.NewDBStats())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	promQL := parser.NewParser(parser.Options{})
	w := &world{db: db, open: map[string]*episode{}, engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Hour, EnableAtModifier: true, EnableNegativeOffset: true, Parser: promQL,
	})}
	manager := rules.NewManager(&rules.ManagerOptions{Context: t.Context(), Parser: promQL})
	loaded, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, rulesFile)
	if len(errs) > 0 {
		t.Fatalf("load %s: %v", rulesFile, errs)
	}
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range loaded {
		for _, r := range g.Rules() {
			if alert, ok := r.(*rules.AlertingRule); ok {
				alert.SetRestored(true) // else it does not tell its series ALERTS, which other rules read
			}
		}
		w.groups = append(w.groups, g)
	}
	place := func(g *rules.Group) int { return strings.Index(string(text), "name: "+g.Name()+"\n") }
	slices.SortFunc(w.groups, func(a, b *rules.Group) int { return place(a) - place(b) })
	return w
}

// live lets time pass, scraping and evaluating at each step; groups of a longer interval are evaluated at theirs. It ends
// at the first rule that has an error.
func (w *world) live(ctx context.Context, from, to time.Time, step time.Duration) error {
	const (
		stretch = 12 * time.Hour  // no rule looks at one behind it from less far
		before  = 5 * time.Second // that a scrape comes before the evaluations that see it
	)
	for ; from.Before(to); from = from.Add(stretch) {
		end := from.Add(stretch)
		for now := from; now.Before(end); now = now.Add(step) {
			app := w.db.Appender(ctx)
			for _, t := range w.targets {
				if err := t.scrape(app, now.Add(-before)); err != nil {
					return err
				}
			}
			if err := app.Commit(); err != nil {
				return err
			}
		}
		for _, g := range w.groups {
			for _, r := range g.Rules() {
				if err := w.eval(ctx, r, from, end, max(g.Interval(), step)); err != nil {
					return fmt.Errorf("%s, %s: %w", g.Name(), r.Name(), err)
				}
			}
		}
	}
	return nil
}

// eval evaluates a rule at each interval of a time.
func (w *world) eval(ctx context.Context, r rules.Rule, from, end time.Time, interval time.Duration) error {
	query, err := w.engine.NewRangeQuery(ctx, w.db, nil, r.Query().String(), from, end.Add(-interval), interval)
	if err != nil {
		return err
	}
	defer query.Close()
	matrix, err := query.Exec(ctx).Matrix()
	if err != nil {
		return err
	}
	if alert, ok := r.(*rules.AlertingRule); ok {
		return w.alert(ctx, alert, matrix, from, end, interval)
	}
	return w.record(ctx, r, matrix, end, interval)
}

// record appends what a rule gave, and where a series ends that it ended.
func (w *world) record(ctx context.Context, r rules.Rule, matrix promql.Matrix, end time.Time, interval time.Duration) error {
	app, step := w.db.Appender(ctx), interval.Milliseconds()
	stale := math.Float64frombits(value.StaleNaN)
	for _, series := range matrix {
		if len(series.Histograms) > 0 {
			return fmt.Errorf("%s: a rule that records histograms is not foreseen", series.Metric)
		}
		b := labels.NewBuilder(series.Metric)
		b.Set(model.MetricNameLabel, r.Name())
		r.Labels().Range(func(l labels.Label) { b.Set(l.Name, l.Value) })
		name := b.Labels()
		for i, p := range series.Floats {
			if _, err := app.Append(0, name, p.T, p.F); err != nil {
				return err
			}
			next := p.T + step
			if ends := i+1 == len(series.Floats) || series.Floats[i+1].T != next; ends && next < end.UnixMilli() {
				if _, err := app.Append(0, name, next, stale); err != nil {
					return err
				}
			}
		}
	}
	return app.Commit()
}

// alert gives an alert what its expression was at each time, and takes down
// when it fires.
func (w *world) alert(ctx context.Context, r *rules.AlertingRule, matrix promql.Matrix, from, end time.Time, interval time.Duration) error {
	own, at := r.Query().String(), map[int64]promql.Vector{}
	for _, series := range matrix {
		for _, p := range series.Floats {
			at[p.T] = append(at[p.T], promql.Sample{Metric: series.Metric, T: p.T, F: p.F})
		}
	}
	instant := rules.EngineQueryFunc(w.engine, w.db)
	query := func(ctx context.Context, q string, now time.Time) (promql.Vector, error) {
		if q == own {
			return slices.Clone(at[now.UnixMilli()]), nil
		}
		return instant(ctx, q, now) // of an annotation
	}
	for now := from; now.Before(end); now = now.Add(interval) {
		if len(at[now.UnixMilli()]) == 0 && len(r.ActiveAlerts()) == 0 {
			continue
		}
		series, err := r.Eval(ctx, 0, now, query, &url.URL{}, 0)
		if err != nil {
			return err
		}
		if err := w.store(ctx, series); err != nil {
			return err
		}
		for _, a := range r.ActiveAlerts() {
			if a.State != rules.StateFiring {
				continue
			}
			if err := w.fire(a, now, interval); err != nil {
				return err
			}
		}
	}
	return nil
}

// store appends what Prometheus records of an alert, its series ALERTS and ALERTS_FOR_STATE: rules read which others
// fired.
func (w *world) store(ctx context.Context, series promql.Vector) error {
	app := w.db.Appender(ctx)
	for _, s := range series {
		if _, err := app.Append(0, s.Metric, s.T, s.F); err != nil {
			return err
		}
	}
	return app.Commit()
}

// fire begins an episode or goes on with one.
func (w *world) fire(a *rules.Alert, now time.Time, interval time.Duration) error {
	if text := a.Annotations.String(); strings.Contains(text, "error expanding template") {
		return fmt.Errorf("%s: %s", a.Labels, text)
	}
	key := a.Labels.String()
	e := w.open[key]
	if e == nil || now.Sub(e.to) > interval {
		e = &episode{
			alert: a.Labels.Get(labels.AlertName), labels: a.Labels, from: now,
			target: cmp.Or(a.Labels.Get("target"), a.Labels.Get("instance")), // every target has a prober of its own
		}
		if a.Labels.Get("severity") == "critical" {
			e.alert += ", critical"
		}
		w.open[key] = e
		w.fired = append(w.fired, e)
	}
	e.to = now
	return nil
}
