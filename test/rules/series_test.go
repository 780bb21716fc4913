package rules

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// seriesName splits `name{label="value",…}`.
var (
	seriesName   = regexp.MustCompile(`^([\w:]+)(?:\{(.*)\})?$`)
	labelMatcher = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// defaultLabels are the labels that a series of this name has unless a row says otherwise: those of one prober "a"
// that probes one target "t".
func defaultLabels(metric string) map[string]string {
	prober := map[string]string{"job": "prober", "instance": "a"}
	target := map[string]string{"target": "t", "prompt": "cold"}
	level, _, isRecord := strings.Cut(metric, ":")
	switch {
	case strings.HasPrefix(metric, "llm_probe_"):
		maps.Copy(target, prober)
		target["model"] = "m"
		return target
	case !isRecord && metric != "ALERTS":
		return prober
	case level == "instance":
		maps.Copy(target, prober)
	case level == "workload":
		return map[string]string{"prompt": "cold", "model": "m"}
	case level != "target" && isRecord:
		target["model"] = "m"
	}
	return target
}

// A series is one time series of a row: what it is in each phase.
type series struct {
	metric string
	labels map[string]string
	phases phases
}

// parseSeries reads the name of a series, adds the labels that a row need not name, and those of all series.
func parseSeries(name string, p phases, common map[string]string) (series, error) {
	parts := seriesName.FindStringSubmatch(name)
	if parts == nil {
		return series{}, fmt.Errorf("%q is not the name of a series", name)
	}
	labels := defaultLabels(parts[1])
	maps.Copy(labels, common)
	for _, found := range labelMatcher.FindAllStringSubmatch(parts[2], -1) {
		labels[found[1]] = found[2]
	}
	return series{metric: parts[1], labels: labels, phases: p}, nil
}

// name returns the series as promtool wants it, with a suffix of the metric and further labels. An empty label is none.
func (s series) name(suffix string, more ...string) string {
	var matchers []string
	for _, label := range slices.Sorted(maps.Keys(s.labels)) {
		if s.labels[label] != "" {
			matchers = append(matchers, fmt.Sprintf("%s=%q", label, s.labels[label]))
		}
	}
	return s.metric + suffix + "{" + strings.Join(append(matchers, more...), ",") + "}"
}

// A phase is a part of a row's time. Its samples are those from begin on, before end.
type phase struct {
	name       string
	begin, end time.Duration
}

// samples returns the samples of a series, or of those of a histogram, by name.
func (s series) samples(times []phase, step time.Duration, classic bool) (map[string][]string, error) {
	if s.phases.areHistogram() {
		return s.histogram(times, step, classic)
	}
	var samples []string
	last := 0.0
	fault := times[1].begin
	for _, p := range times {
		text := s.phases[p.name]
		for at := p.begin; at < p.end; at += step {
			if missing, ok := absent(text, at == p.begin); ok {
				samples = append(samples, missing)
				continue
			}
			value, err := next(text, last, at, p.begin, fault, step)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.metric, err)
			}
			last = value
			samples = append(samples, formatFloat(value))
		}
	}
	return map[string][]string{s.name(""): samples}, nil
}

// absent returns what promtool reads where there is no sample. ok is false if there is one. With the marker that a
// series has ended, Prometheus does not look back for its last sample.
func absent(text string, isFirst bool) (missing string, ok bool) {
	switch {
	case text == "gone" && isFirst:
		return "stale", true
	case text == "none", text == "gone":
		return "_", true
	default:
		return "", false
	}
}

// next returns the sample after the last one. The text is in the notation of the table's README.
func next(text string, last float64, at, begin, fault, step time.Duration) (float64, error) {
	word, offset, _ := strings.Cut(text, " ")
	shift, err := parseDuration(cmp.Or(offset, "0s"))
	if err != nil {
		return 0, err
	}
	switch {
	case word == "now":
		return (at + shift).Seconds(), nil
	case word == "fault":
		return (fault + shift).Seconds(), nil
	case word == "age":
		return (at - begin + shift).Seconds(), nil
	case word == "stays":
		return last, nil
	case strings.HasSuffix(word, "/m"):
		rate, err := strconv.ParseFloat(strings.TrimSuffix(word, "/m"), 64)
		return last + rate*step.Minutes(), err
	case strings.HasPrefix(word, "+") && at > begin:
		return last, nil
	case strings.HasPrefix(word, "+"):
		jump, err := strconv.ParseFloat(word, 64)
		return last + jump, err
	default:
		return strconv.ParseFloat(word, 64)
	}
}

func formatFloat(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// parseDuration reads a duration which may begin with days, such as "7d10s" and "7d-10s".
func parseDuration(text string) (time.Duration, error) {
	days, rest, ok := strings.Cut(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	n, err := strconv.Atoi(days)
	if err != nil {
		return 0, err
	}
	more, err := time.ParseDuration(cmp.Or(rest, "0s"))
	return time.Duration(n)*24*time.Hour + more, err
}

// observations matches "6/m of 20ms": that many values of a histogram a minute.
var observations = regexp.MustCompile(`^([\d.]+)/m of (\S+)$`)

// perStep returns how many values a histogram gets from one scrape to the next, by value in seconds.
func perStep(text string, step time.Duration) (map[float64]float64, error) {
	counts := map[float64]float64{}
	if _, ok := absent(text, false); ok {
		return counts, nil
	}
	for part := range strings.SplitSeq(text, ", ") {
		found := observations.FindStringSubmatch(part)
		if found == nil {
			return nil, fmt.Errorf("%q is not as 6/m of 20ms", part)
		}
		rate, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			return nil, err
		}
		value, err := time.ParseDuration(found[2])
		if err != nil {
			return nil, err
		}
		counts[value.Seconds()] += rate * step.Minutes()
	}
	return counts, nil
}

// histogram returns the samples of a native histogram, or of the series of a classic one.
func (s series) histogram(times []phase, step time.Duration, classic bool) (map[string][]string, error) {
	total := map[float64]float64{}
	for _, text := range s.phases {
		counts, err := perStep(text, step)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.metric, err)
		}
		for value := range counts {
			total[value] = 0 // each value has a bucket from the start
		}
	}
	all := map[string][]string{}
	for _, p := range times {
		text := s.phases[p.name]
		counts, err := perStep(text, step)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.metric, err)
		}
		for at := p.begin; at < p.end; at += step {
			for value, n := range counts {
				total[value] += n
			}
			sample := map[string]string{s.name(""): native(total)}
			if classic {
				sample = s.classic(total)
			}
			for name, value := range sample {
				if missing, ok := absent(text, at == p.begin); ok {
					value = missing
				}
				all[name] = append(all[name], value)
			}
		}
	}
	return all, nil
}

// nativeSchema is the prober's: sixteen buckets for each power of two, 4.4% wide.
const nativeSchema = 4

// native returns a sample of a native histogram, by how many values of each size it has.
func native(total map[float64]float64) string {
	values := slices.Sorted(maps.Keys(total))
	index := func(value float64) int { return int(math.Ceil(math.Log2(value) * (1 << nativeSchema))) }
	first := index(values[0])
	buckets := make([]float64, index(values[len(values)-1])-first+1)
	count, sum := 0.0, 0.0
	for _, value := range values {
		buckets[index(value)-first] += total[value]
		count += total[value]
		sum += total[value] * value
	}
	return fmt.Sprintf("{{schema:%d count:%v sum:%v offset:%d buckets:%v}}", nativeSchema, count, sum, first, buckets)
}

// classic returns a sample of each series of a classic histogram. A bucket begins a little below each value and ends at it,
// so that quantiles are exact.
func (s series) classic(total map[float64]float64) map[string]string {
	sample := map[string]string{}
	count, sum := 0.0, 0.0
	for _, value := range slices.Sorted(maps.Keys(total)) {
		sample[s.name("_bucket", fmt.Sprintf(`le="%v"`, value*0.999))] = formatFloat(count)
		count += total[value]
		sum += total[value] * value
		sample[s.name("_bucket", fmt.Sprintf(`le="%v"`, value))] = formatFloat(count)
	}
	sample[s.name("_bucket", `le="+Inf"`)] = formatFloat(count)
	sample[s.name("_count")] = formatFloat(count)
	sample[s.name("_sum")] = formatFloat(sum)
	return sample
}
