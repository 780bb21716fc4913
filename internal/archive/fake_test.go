package archive

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// A fake is a Prometheus that knows the few expressions that an archive asks,
// over samples that a test made. It is written from the documentation of PromQL.
type fake struct {
	series []stored
	asked  []string

	warnings []string                                                 // of every answer
	answer   func(w http.ResponseWriter, r *http.Request) (done bool) // instead of the rest
}

// stored are the samples of a series, ascending in time.
type stored struct {
	labels  model.Metric
	samples []sample
}

type sample struct {
	at    time.Time
	float float64
	hist  *model.SampleHistogram // nil where it is a float
}

// open serves f and opens an archive of it.
func (f *fake) open(t *testing.T, match ...Match) *Archive {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return opened(t, server.URL, Options{Match: match})
}

func opened(t *testing.T, address string, o Options) *Archive {
	t.Helper()
	o.URL = mustParse(t, address)
	a, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.answer != nil && f.answer(w, r) {
		return
	}
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.asked = append(f.asked, r.Form.Get("query"))
	var data any
	switch r.URL.Path {
	case "/api/v1/series":
		var sets []model.Metric
		for _, s := range f.find(r.Form.Get("match[]")) {
			if len(s.within(moment(r.Form.Get("start")), moment(r.Form.Get("end")))) > 0 {
				sets = append(sets, s.labels)
			}
		}
		data = sets
	case "/api/v1/query":
		data = f.query(r.Form.Get("query"), moment(r.Form.Get("time")))
	case "/api/v1/query_range":
		data = f.queryRange(r.Form)
	default:
		http.NotFound(w, r)
		return
	}
	reply := map[string]any{"status": "success", "data": data}
	if f.warnings != nil {
		reply["warnings"] = f.warnings
	}
	if err := json.NewEncoder(w).Encode(reply); err != nil {
		panic(err)
	}
}

func moment(text string) time.Time {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return time.UnixMilli(int64(math.Round(seconds * 1e3)))
}

func (f *fake) query(expr string, at time.Time) map[string]any {
	if selector, width, ok := rangeOf(expr); ok {
		matrix := model.Matrix{}
		for _, s := range f.find(selector) {
			if samples := s.within(at.Add(-width), at); len(samples) > 0 {
				matrix = append(matrix, stream(s.labels, samples))
			}
		}
		return map[string]any{"resultType": "matrix", "result": matrix}
	}
	return map[string]any{"resultType": "vector", "result": f.eval(expr, at)}
}

func stream(labels model.Metric, samples []sample) *model.SampleStream {
	s := &model.SampleStream{Metric: labels}
	for _, v := range samples {
		if v.hist != nil {
			s.Histograms = append(s.Histograms, model.SampleHistogramPair{Timestamp: model.TimeFromUnixNano(v.at.UnixNano()), Histogram: v.hist})
		} else {
			s.Values = append(s.Values, model.SamplePair{Timestamp: model.TimeFromUnixNano(v.at.UnixNano()), Value: model.SampleValue(v.float)})
		}
	}
	return s
}

func (f *fake) queryRange(form url.Values) map[string]any {
	step, err := strconv.ParseFloat(form.Get("step"), 64)
	if err != nil {
		panic(err)
	}
	streams, order := map[string]*model.SampleStream{}, []string{}
	for at := moment(form.Get("start")); !at.After(moment(form.Get("end"))); at = at.Add(time.Duration(math.Round(step*1e3)) * time.Millisecond) {
		for _, s := range f.eval(form.Get("query"), at) {
			key := s.Metric.String()
			if streams[key] == nil {
				streams[key], order = &model.SampleStream{Metric: s.Metric}, append(order, key)
			}
			streams[key].Values = append(streams[key].Values, model.SamplePair{Timestamp: model.TimeFromUnixNano(at.UnixNano()), Value: s.Value})
		}
	}
	matrix := model.Matrix{}
	for _, key := range order {
		matrix = append(matrix, streams[key])
	}
	return map[string]any{"resultType": "matrix", "result": matrix}
}

var (
	samplesIn = regexp.MustCompile(`^([a-z0-9_]+\{.*\})\[(\d+)ms\]$`)
	calledOn  = regexp.MustCompile(`^([a-z_]+)\((.*)\)$`)
)

func rangeOf(expr string) (selector string, width time.Duration, ok bool) {
	match := samplesIn.FindStringSubmatch(expr)
	if match == nil {
		return "", 0, false
	}
	ms, err := strconv.Atoi(match[2])
	if err != nil {
		panic(err)
	}
	return match[1], time.Duration(ms) * time.Millisecond, true
}

// eval evaluates one of the functions, a quotient of two means, or what tells
// which targets there are.
func (f *fake) eval(expr string, at time.Time) model.Vector {
	if over, under, ok := strings.Cut(expr, " / "); ok {
		a, b := f.increase(over, at), f.increase(under, at)
		return model.Vector{{Metric: model.Metric{}, Value: model.SampleValue(a / b)}}
	}
	if inner, ok := strings.CutPrefix(expr, "count by (target) (present_over_time("); ok {
		return f.present(strings.TrimSuffix(inner, "[1d]))"), at)
	}
	match := calledOn.FindStringSubmatch(expr)
	selector, width, ok := rangeOf(match[2])
	if !ok {
		panic("what is " + expr)
	}
	vector := model.Vector{}
	for _, s := range f.find(selector) {
		samples := s.within(at.Add(-width), at)
		if len(samples) == 0 {
			continue
		}
		labels := s.labels.Clone()
		delete(labels, model.MetricNameLabel)
		result := &model.Sample{Metric: labels, Timestamp: model.TimeFromUnixNano(at.UnixNano())}
		switch last := samples[len(samples)-1]; match[1] {
		case "count_over_time":
			result.Value = model.SampleValue(len(samples))
		case "resets":
			result.Value = model.SampleValue(resets(samples))
		case "last_over_time":
			result.Metric, result.Value, result.Histogram = s.labels, model.SampleValue(last.float), last.hist
		default:
			panic("what is " + expr)
		}
		vector = append(vector, result)
	}
	return vector
}

func (f *fake) present(selector string, at time.Time) model.Vector {
	vector := model.Vector{}
	for _, s := range f.find(selector) {
		if len(s.within(at.Add(-24*time.Hour), at)) > 0 {
			vector = append(vector, &model.Sample{Metric: model.Metric{"target": s.labels["target"]}, Value: 1})
		}
	}
	return vector
}

// increase is a sum of increases, not extrapolated.
func (f *fake) increase(expr string, at time.Time) (sum float64) {
	part := ""
	if rest, ok := strings.CutPrefix(expr, "histogram_"); ok {
		part, expr, _ = strings.Cut(strings.TrimSuffix(rest, ")"), "(")
	}
	expr = strings.TrimSuffix(strings.TrimPrefix(expr, "sum(increase("), "))")
	selector, width, ok := rangeOf(expr)
	if !ok {
		panic("what is " + expr)
	}
	of := func(s sample) float64 {
		switch {
		case s.hist == nil:
			return s.float
		case part == "sum":
			return float64(s.hist.Sum)
		}
		return float64(s.hist.Count)
	}
	for _, s := range f.find(selector) {
		samples := s.within(at.Add(-width), at)
		for i := 1; i < len(samples); i++ {
			sum += of(samples[i]) - of(samples[i-1])
		}
	}
	return sum
}

// find selects series.
func (f *fake) find(selector string) []stored {
	name, matchers, ok := strings.Cut(strings.TrimSuffix(selector, "}"), "{")
	if !ok {
		panic("what is " + selector)
	}
	var found []stored
	for _, s := range f.series {
		if string(s.labels[model.MetricNameLabel]) == name && matches(s.labels, matchers) {
			found = append(found, s)
		}
	}
	return found
}

var matcher = regexp.MustCompile(`([a-z_]+)(=~?)("(?:[^"\\]|\\.)*")`)

func matches(labels model.Metric, matchers string) bool {
	return !slices.ContainsFunc(matcher.FindAllStringSubmatch(matchers, -1), func(m []string) bool {
		want, err := strconv.Unquote(m[3])
		if err != nil {
			panic(err)
		}
		if m[2] == "=" {
			want = regexp.QuoteMeta(want)
		}
		return !regexp.MustCompile("^(?:" + want + ")$").MatchString(string(labels[model.LabelName(m[1])]))
	})
}

// within are the samples after a time and up to another.
func (s stored) within(after, upTo time.Time) []sample {
	first := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].at.After(after) })
	end := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].at.After(upTo) })
	return s.samples[first:max(first, end)]
}

func resets(samples []sample) (n int) {
	for i := 1; i < len(samples); i++ {
		if down(samples[i-1], samples[i]) {
			n++
		}
	}
	return n
}

// down says whether anything is less than before.
func down(before, now sample) bool {
	if now.hist == nil {
		return now.float < before.float
	}
	counts := map[[2]model.FloatString]model.FloatString{}
	for _, b := range now.hist.Buckets {
		counts[[2]model.FloatString{b.Lower, b.Upper}] = b.Count
	}
	return now.hist.Count < before.hist.Count || slices.ContainsFunc(before.hist.Buckets, func(b *model.HistogramBucket) bool {
		return counts[[2]model.FloatString{b.Lower, b.Upper}] < b.Count
	})
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// hanging is a Prometheus that never answers.
type hanging struct{ v1.API }

func (hanging) Query(ctx context.Context, _ string, _ time.Time, _ ...v1.Option) (model.Value, v1.Warnings, v1.Infos, error) {
	<-ctx.Done()
	return nil, nil, nil, ctx.Err()
}
