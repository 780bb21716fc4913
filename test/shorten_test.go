package test

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// A shortening makes seconds of the days of alerting rules, so that a test can
// wait for them. Everything that lasts is divided by one factor: ranges, offsets,
// the intervals of groups, for and keep_firing_for. What would become shorter
// than can be seen at all has a floor, counted in ticks, the time between two
// scrapes and between two evaluations:
//
//   - the interval of a group: one tick
//   - for and keep_firing_for: two ticks, that is three evaluations
//   - a range: six ticks, so that a rate survives lost scrapes
//   - an offset has none: nothing is counted in it
//
// Numbers of samples (count_over_time) keep their share of the samples that the
// range would hold. Numbers of probes, ratios, factors and z-scores are the rules'
// own: three bad probes are three, so that a test must probe often enough.
type shortening struct {
	factor float64
	tick   time.Duration
}

// floor is d divided by the factor, not below so many ticks. Zero stays zero.
func (s shortening) floor(d time.Duration, ticks int) time.Duration {
	if d == 0 {
		return 0
	}
	return max(s.divide(d), time.Duration(ticks)*s.tick)
}

// divide is d divided by the factor, in whole milliseconds: Prometheus knows no less.
func (s shortening) divide(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.factor).Round(time.Millisecond)
}

func (s shortening) interval(d time.Duration) time.Duration { return s.floor(d, 1) }
func (s shortening) hold(d time.Duration) time.Duration     { return s.floor(d, 2) }
func (s shortening) window(d time.Duration) time.Duration   { return s.floor(d, 6) }

// rules shortens a file of rules. The error tells what it cannot shorten.
func (s shortening) rules(file []byte) (string, error) {
	var all rulefmt.RuleGroups
	if err := yaml.Unmarshal(file, &all); err != nil {
		return "", fmt.Errorf("read rules: %w", err)
	}
	w, problems := newShortener(s, all), []error{}
	for i := range all.Groups {
		g := &all.Groups[i]
		for j := range g.Rules {
			problems = append(problems, w.rule(&g.Rules[j]))
		}
		g.Interval = model.Duration(s.interval(time.Duration(g.Interval)))
	}
	if err := errors.Join(problems...); err != nil {
		return "", err
	}
	out, err := yaml.Marshal(all)
	return string(out), err
}

// A shortener knows what the rules record, which decides what a number means.
type shortener struct {
	shortening

	parser    parser.Parser
	intervals map[string]time.Duration // between the samples of a recorded metric
	exprs     map[string]string        // of recorded metrics
}

func newShortener(s shortening, all rulefmt.RuleGroups) shortener {
	w := shortener{
		shortening: s, parser: parser.NewParser(parser.Options{}),
		intervals: map[string]time.Duration{}, exprs: map[string]string{},
	}
	for _, g := range all.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				w.intervals[r.Record], w.exprs[r.Record] = time.Duration(g.Interval), r.Expr
			}
		}
	}
	return w
}

// rule shortens a rule in place.
func (w shortener) rule(r *rulefmt.Rule) error {
	expr, err := w.parser.ParseExpr(r.Expr)
	if err != nil {
		return fmt.Errorf("%s%s: %w", r.Record, r.Alert, err)
	}
	// Numbers first: what they mean is read from the ranges.
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if b, ok := node.(*parser.BinaryExpr); ok && b.Op.IsComparisonOperator() {
			err = errors.Join(err, w.number(b))
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		w.durations(node)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s%s: %w", r.Record, r.Alert, err)
	}
	r.Expr = expr.String()
	r.For = model.Duration(w.hold(time.Duration(r.For)))
	r.KeepFiringFor = model.Duration(w.hold(time.Duration(r.KeepFiringFor)))
	for name, text := range r.Annotations {
		r.Annotations[name] = w.text(text)
	}
	return nil
}

// durations shortens what a node of an expression itself says of time.
func (w shortener) durations(node parser.Node) {
	switch n := node.(type) {
	case *parser.MatrixSelector:
		n.Range = w.window(n.Range)
	case *parser.VectorSelector:
		n.OriginalOffset = w.divide(n.OriginalOffset)
	case *parser.SubqueryExpr:
		n.Range, n.Step, n.OriginalOffset = w.window(n.Range), w.interval(n.Step), w.divide(n.OriginalOffset)
	}
}

// number scales the number on the right of a comparison if what is compared with
// it counts samples, in place or in the rule that records it.
func (w shortener) number(b *parser.BinaryExpr) error {
	limit, ok := b.RHS.(*parser.NumberLiteral)
	if !ok {
		return nil
	}
	counted := b.LHS
	if selector, ok := counted.(*parser.VectorSelector); ok && w.exprs[selector.Name] != "" {
		recorded, err := w.parser.ParseExpr(w.exprs[selector.Name])
		if err != nil {
			return fmt.Errorf("%s: %w", selector.Name, err)
		}
		counted = recorded
	}
	call, ok := counted.(*parser.Call)
	if !ok || call.Func.Name != "count_over_time" {
		return nil
	}
	matrix, ok := call.Args[0].(*parser.MatrixSelector)
	if !ok {
		return fmt.Errorf("%s: cannot tell how many samples there are", call)
	}
	interval := w.intervals[matrix.VectorSelector.(*parser.VectorSelector).Name]
	if interval == 0 {
		return fmt.Errorf("%s: cannot tell how many samples there are: it is not recorded here", call)
	}
	before := float64(matrix.Range) / float64(interval)
	after := float64(w.window(matrix.Range)) / float64(w.interval(interval))
	limit.Val = math.Ceil(limit.Val / before * after)
	return nil
}

// text shortens the ranges of queries in a template.
func (w shortener) text(template string) string {
	return regexp.MustCompile(`\[\d+[smhdw]\]`).ReplaceAllStringFunc(template, func(s string) string {
		d, err := model.ParseDuration(strings.Trim(s, "[]"))
		if err != nil {
			return s
		}
		return "[" + model.Duration(w.window(time.Duration(d))).String() + "]"
	})
}

func TestShorten(t *testing.T) {
	got, err := shortening{factor: 7200, tick: 500 * time.Millisecond}.rules([]byte(`
groups:
- name: a
  interval: 2h
  rules:
  - {record: "x:r", expr: 'rate(x[1h] offset 1d) / max_over_time(y[1d:2h] offset 1w)'}
  - {record: "x:count", expr: 'count_over_time(x:r[5d] offset 6h)'}
  - alert: A
    expr: 'x:r > 1.08 and x:count >= 30 and count_over_time(x:r[1d]) > 6 and increase(x[1h]) > 2.5'
    for: 30m
    keep_firing_for: 2h
    annotations: {d: 'a {{ "increase(x[1d])" | query }} [later]'}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := `groups:
    - name: a
      interval: 1s
      rules:
        - record: x:r
          expr: rate(x[3s] offset 12s) / max_over_time(y[12s:1s] offset 1m24s)
        - record: x:count
          expr: count_over_time(x:r[1m] offset 3s)
        - alert: A
          expr: x:r > 1.08 and x:count >= 30 and count_over_time(x:r[12s]) > 6 and increase(x[3s]) > 2.5
          for: 1s
          keep_firing_for: 1s
          annotations:
            d: a {{ "increase(x[12s])" | query }} [later]
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestShortenCounts shortens the interval of a group less than the range: fewer
// samples are there, and as large a part of them is asked for.
func TestShortenCounts(t *testing.T) {
	got, err := shortening{factor: 7200, tick: 500 * time.Millisecond}.rules([]byte(`
groups:
- {name: a, interval: 2m, rules: [{record: "x:r", expr: "x"}, {record: "x:count", expr: "count_over_time(x:r[5d])"}]}
- {name: b, interval: 30s, rules: [{alert: A, expr: "x:count >= 3000 and count_over_time(x:r[1d] offset 1h) >= 360"}]}
`))
	if want := "x:count >= 100 and count_over_time(x:r[12s] offset 500ms) >= 12"; err != nil || !strings.Contains(got, want) {
		t.Errorf("got\n%s%v\nwant %s", got, err, want)
	}
}

func TestShortenRefuses(t *testing.T) {
	for _, expr := range []string{"rate(x", "count_over_time(x[1d]) > 3", "count_over_time(max(x)[1d:1h]) > 3"} {
		_, err := shortening{factor: 60, tick: time.Second}.rules([]byte(`groups: [{name: a, rules: [{alert: A, expr: "` + expr + `"}]}]`))
		if err == nil {
			t.Errorf("%s was shortened", expr)
		}
	}
}

// shortRules are the rules that ship, shortened.
func (s shortening) shortRules(t *testing.T) string {
	t.Helper()
	rules, err := s.rules([]byte(shippedRules(t)))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
