package archive

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A life is a prober that is scraped every 15 s and makes a probe in between.
type life struct {
	target, model string
	job           string
	from          time.Time
	probes        int
	failing       int     // every so many; 0 for none
	slower        float64 // than 100 ms of TTFT
	tainted       bool    // one in ten
	native        bool
	classic       bool
}

// series are what such a prober leaves. Its TTFT goes up and down by 10% within
// seven probes; TPOT is a tenth, E2EL ten times it.
func (l life) series() []stored {
	labels := func(name string, more ...string) model.Metric {
		m := model.Metric{
			"__name__": model.LabelValue(name), "target": model.LabelValue(l.target), "model": model.LabelValue(l.model), "prompt": "cold",
			"job": model.LabelValue(l.job), "instance": "10.0.0.1:9464",
		}
		for i := 0; i < len(more); i += 2 {
			m[model.LabelName(more[i])] = model.LabelValue(more[i+1])
		}
		return m
	}
	all := []stored{
		{labels: labels(probesTotal, "outcome", "ok")}, {labels: labels(probesTotal, "outcome", "timeout")},
		{labels: labels(skippedTotal, "reason", "late")}, {labels: labels(tokensTotal, "kind", "prompt")}, {labels: labels(tokensTotal, "kind", "output")},
	}
	hists := []stored{{labels: labels(ttftSeconds)}, {labels: labels(tpotSeconds)}, {labels: labels(e2elSeconds)}}
	scales := []float64{1, 0.1, 10}
	counts := []map[int]float64{{}, {}, {}}
	classic := []string{"0.1", "1", "+Inf"}
	var buckets []stored
	for _, h := range hists {
		name := string(h.labels["__name__"])
		for _, le := range classic {
			buckets = append(buckets, stored{labels: labels(name+"_bucket", "le", le)})
		}
		buckets = append(buckets, stored{labels: labels(name + "_count")}, stored{labels: labels(name + "_sum")})
	}
	sums := []float64{0, 0, 0}
	values := make([][]float64, 3)
	ok, bad := 0.0, 0.0
	for i := range l.probes + 1 {
		at := l.from.Add(time.Duration(i) * 15 * time.Second)
		for k, v := range []float64{ok, bad, float64(i / 10), 100 * (ok + bad), 10 * ok} {
			all[k].samples = append(all[k].samples, sample{at: at, float: v})
		}
		for k := range hists {
			h := exponential(4, counts[k])
			h.Sum = model.FloatString(sums[k])
			hists[k].samples = append(hists[k].samples, sample{at: at, hist: h})
			for j, v := range []float64{upTo(values[k], 0.1), upTo(values[k], 1), ok, ok, sums[k]} {
				buckets[5*k+j].samples = append(buckets[5*k+j].samples, sample{at: at, float: v})
			}
		}
		if l.failing > 0 && i%l.failing == l.failing-1 {
			bad++
			continue
		}
		ok++
		for k, scale := range scales {
			v := 0.1 * (1 + l.slower) * (1 + 0.1*float64(i%7)/7) * scale
			counts[k][int(math.Ceil(math.Log2(v)*16))]++
			values[k] = append(values[k], v)
			sums[k] += v
		}
	}
	if l.tainted {
		late := stored{labels: labels(taintedTotal, "reason", "late"), samples: slices.Clone(all[2].samples)} // as often as slots were skipped
		all = append(all, late)
	}
	if l.native {
		all = append(all, hists...)
	}
	if l.classic {
		all = append(all, buckets...)
	}
	return all
}

func upTo(values []float64, bound float64) (n float64) {
	for _, v := range values {
		if v <= bound {
			n++
		}
	}
	return n
}

// world is what lives left, those of one prober in their order.
func world(lives ...life) *fake {
	f := &fake{}
	for _, l := range lives {
		for _, s := range l.series() {
			same := func(o stored) bool { return o.labels.Equal(s.labels) }
			if i := slices.IndexFunc(f.series, same); i >= 0 {
				f.series[i].samples = append(f.series[i].samples, s.samples...)
			} else {
				f.series = append(f.series, s)
			}
		}
	}
	return f
}

// usual is a life over six hours and more before and after midnight.
func usual(target string) life {
	return life{target: target, model: "m", job: "prober", from: midnight.Add(-time.Hour + time.Second), probes: 4 * 60 * 8, native: true}
}

func records(t *testing.T, f *fake, filter Filter, span Range) []Record {
	t.Helper()
	got, err := f.open(t).Records(t.Context(), filter, span)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRecords(t *testing.T) {
	a := usual("a")
	a.failing = 10
	b := usual("b")
	b.native, b.classic = false, true
	got := records(t, world(b, a), Filter{}, hours(6))
	if len(got) != 2 || got[0].Summary.Target != "a" || got[1].Summary.Target != "b" {
		t.Fatalf("%+v", got)
	}
	s := got[0].Summary
	if s.Outcomes[probe.OK] != 1296 || s.Outcomes[probe.Timeout] != 144 || s.Skipped[probe.SkipLate] != 144 || s.Input != 144_000 || s.Output != 12_960 {
		t.Errorf("%+v", s)
	}
	if s.Start != midnight || s.Duration != 6*time.Hour || s.TTFT.Count != 1296 || s.ITL.Count != 0 || math.Abs(s.E2EL.Mean-1.0428) > 1e-3 {
		t.Errorf("%+v", s)
	}
	if q, _ := s.TTFT.At(0.5); q.Low < 0.1 || q.High/q.Low > 1.05 || q.Value < q.Low || q.Value > q.High {
		t.Errorf("%+v", q)
	}
	said(t, s, "token counts include the 144 failed requests")

	s = got[1].Summary
	if s.Outcomes[probe.OK] != 1440 || s.TPOT.Count != 1440 || math.Abs(s.TPOT.Mean-0.010428) > 1e-5 {
		t.Errorf("%+v", s)
	}
	if q, _ := s.TTFT.At(0.5); q.Low != 0.1 || q.High != 1 {
		t.Errorf("%+v", q)
	}
	said(t, s, "TTFT, TPOT, E2EL from classic buckets")
}

// said holds the warnings of a summary against their beginnings.
func said(t *testing.T, s report.Summary, want ...string) {
	t.Helper()
	if !slices.EqualFunc(s.Warnings, want, strings.HasPrefix) {
		t.Errorf("%s: warnings\n%s\nwant\n%s", s.Target, strings.Join(s.Warnings, "\n"), strings.Join(want, "\n"))
	}
}

func TestWarnings(t *testing.T) {
	twice := usual("a")
	twice.job = "again"
	leaving, moved := usual("a"), usual("a") // to another address, after the first has ended
	leaving.probes, moved.job, moved.from = 4*60*6, "moved", midnight.Add(5*time.Hour)
	rare := world(usual("a")) // one in ten minutes, windows of 7.2
	for i := range rare.series {
		s := &rare.series[i]
		for k := range len(s.samples) / 40 {
			s.samples[k] = s.samples[40*k]
		}
		s.samples = s.samples[:len(s.samples)/40]
	}
	late := usual("a")
	late.from, late.probes = midnight.Add(2*time.Hour), 4*60*2
	old := late // a prober that Prometheus found late
	olden := old.series()
	for i := range olden {
		if olden[i].labels["__name__"] == probesTotal {
			olden[i].samples = olden[i].samples[100:]
		}
	}
	first, second := usual("a"), usual("a") // classic first, then native
	first.classic, first.native, first.probes = true, false, 4*60*5
	second.from = midnight.Add(4*time.Hour + time.Minute)
	slow := usual("a")
	slow.tainted = true
	for name, test := range map[string]struct {
		f    *fake
		want []string
	}{
		"read late":          {world(slow), []string{"144 of the 1,440 requests were read too late by the prober: excluded from ITL"}},
		"all well":           {world(usual("a")), nil},
		"two ways":           {world(usual("a"), twice), []string{"counts are the sum of 2 sources (instance=10.0.0.1:9464, job=again; instance=10.0.0.1:9464, job=prober): "}},
		"rare scrapes":       {rare, nil},
		"another instance":   {world(leaving, moved), nil},
		"part of the range":  {world(late), []string{"there is no data for 3h50m of the range's 6h; the longest gap is from about 2026-11-01 00:00:00 UTC to 2026-11-01 0"}},
		"counted before":     {&fake{series: olden}, []string{"100 of the 480 requests were already counted when", "there is no data for "}},
		"classic and native": {world(first, second), []string{"TTFT has native buckets of 476 samples and classic ones of 961: the classic ones are taken", "TPOT has", "E2EL has", "TTFT, TPOT, E2EL from classic"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := records(t, test.f, Filter{Targets: []string{"a"}}, hours(6))
			said(t, got[0].Summary, test.want...)
		})
	}
	short := Range{From: midnight.Add(time.Hour), To: midnight.Add(time.Hour + 5*time.Minute)} // of one window
	said(t, records(t, world(usual("a")), Filter{}, short)[0].Summary)
	said(t, records(t, world(usual("a"), twice), Filter{}, short)[0].Summary,
		"counts are the sum of 2 sources (instance=10.0.0.1:9464, job=again; instance=10.0.0.1:9464, job=prober): if these are one prober that was not restarted, choose")
	got := records(t, world(usual("a"), twice), Filter{}, hours(6))
	if n := got[0].Summary.Succeeded(); n != 2880 {
		t.Errorf("%d requests by both ways", n)
	}
	got, err := world(usual("a"), twice).open(t, Match{"job", "again"}).Records(t.Context(), Filter{}, hours(6))
	if err != nil || got[0].Summary.Succeeded() != 1440 || got[0].Summary.Warnings != nil {
		t.Errorf("by one of them: %+v, %v", got, err)
	}
}

// TestModels holds that what was counted before the server told its model belongs
// to it, and that several models are told apart.
func TestModels(t *testing.T) {
	young, other, idle := usual("a"), usual("a"), usual("a")
	young.model, young.failing, young.probes = unknown, 1, 4*70
	other.model = "other"
	idle.model, idle.probes = "idle", 0
	idle.from = midnight.Add(time.Minute)
	for _, test := range []struct {
		lives  []life
		filter Filter
		want   string
	}{
		{[]life{usual("a"), young}, Filter{}, "a 1440+41 alone"},
		{[]life{usual("a"), young}, Filter{Model: "m"}, "a 1440+41 alone"},
		{[]life{young}, Filter{}, "a 0+41 alone"},
		{[]life{usual("a"), idle}, Filter{}, "a 1440+0 alone"},
		{[]life{usual("a"), other}, Filter{}, "a (model m, prompt cold) 1440+0, a (model other, prompt cold) 1440+0"},
		{[]life{usual("a"), other}, Filter{Model: "other"}, "a 1440+0 alone"},
	} {
		var got []string
		for _, r := range records(t, world(test.lives...), test.filter, hours(6)) {
			text := fmt.Sprintf("%s %d+%d", r.Summary.Target, r.Summary.Succeeded(), r.Summary.Failed())
			if r.Target == r.Summary.Target {
				text += " alone"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%s, want %s", text, test.want)
		}
	}
}

func TestAbsent(t *testing.T) {
	l := usual("a")
	l.from = time.Now().Add(-10 * 24 * time.Hour)
	_, err := world(l).open(t).Records(t.Context(), Filter{Targets: []string{"b"}, Prompt: "cold"}, hours(1))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"no data of target b from 2026-11-01 00:00:00 UTC to 2026-11-01 01:00:00 UTC in Prometheus at http://",
		`looked for llm_probe_probes_total{target="b",prompt="cold"}`, "there is data, by day, of a (between ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nhas no %q", err, want)
		}
	}
	_, err = (&fake{}).open(t).Records(t.Context(), Filter{}, hours(1))
	if err == nil || !strings.Contains(err.Error(), "no data of any target") || !strings.Contains(err.Error(), "check that this Prometheus scrapes a prober") {
		t.Error(err)
	}
}

func TestCompare(t *testing.T) {
	slow := usual("b")
	slow.slower = 0.05
	for _, classic := range []bool{false, true} {
		a, b := usual("a"), slow
		a.native, a.classic, b.native, b.classic = !classic, classic, !classic, classic
		f := world(a, b)
		archive := f.open(t)
		got, err := archive.Records(t.Context(), Filter{}, hours(6))
		if err != nil {
			t.Fatal(err)
		}
		c, err := archive.Compare(t.Context(), got[0], got[1])
		if err != nil {
			t.Fatal(err)
		}
		if c.A != "a" || c.B != "b" || c.Pair != "period of 18m" || len(c.Lines) != 3 || !strings.HasPrefix(c.Warnings[0], "differences are between the means of 20 periods") {
			t.Fatalf("%+v", c)
		}
		for i, scale := range []float64{1, 0.1, 10} {
			l := c.Lines[i]
			if want := -0.05 * 0.10428 * scale; !l.Shown || l.Pairs != 20 || math.Abs(l.Difference.Center-want) > -0.05*want {
				t.Errorf("%+v, want a difference of %v", l, want)
			}
			if x, _ := got[0].Summary.TTFT.At(0.5); i == 0 && l.A != x.Value {
				t.Errorf("median %v, want %v", l.A, x.Value)
			}
		}
	}
}

// TestCompareRanges holds a target against itself, earlier.
func TestCompareRanges(t *testing.T) {
	before, after := usual("a"), usual("a")
	before.from, before.probes, before.slower = midnight.Add(-25*time.Hour), 4*60*8, 0.1
	archive := world(before, after).open(t)
	now, err := archive.Records(t.Context(), Filter{}, hours(6))
	if err != nil {
		t.Fatal(err)
	}
	then, err := archive.Records(t.Context(), Filter{}, hours(6).Back(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	c, err := archive.Compare(t.Context(), now[0], then[0])
	if err != nil || c.A != "a, from 2026-11-01 00:00:00 UTC to 2026-11-01 06:00:00 UTC" || c.B != "a, from 2026-10-31 00:00:00 UTC to 2026-10-31 06:00:00 UTC" {
		t.Fatalf("%+v, %v", c, err)
	}
	if l := c.Lines[0]; !l.Shown || math.Abs(l.Ratio.Center-1/1.1) > 0.005 {
		t.Errorf("%+v", l)
	}
}

func TestCompareLittle(t *testing.T) {
	f := world(usual("a"), usual("b"))
	archive := f.open(t)
	got, err := archive.Records(t.Context(), Filter{}, Range{From: midnight, To: midnight.Add(14 * time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := archive.Compare(t.Context(), got[0], got[1])
	if err != nil || c.Lines != nil || !strings.HasPrefix(c.Warnings[0], "too little data to compare: at least 8 periods of 10 requests") {
		t.Errorf("%+v, %v", c, err)
	}
	for probes, want := range map[int]int{1000: 20, 130: 13, 59: 5} {
		r := Record{scrapes: 1000}
		r.Summary.Outcomes = map[probe.Outcome]int{probe.OK: probes}
		if n := periods(r); n != want {
			t.Errorf("%d periods of %d probes, want %d", n, probes, want)
		}
		r.scrapes = 15
		if n := periods(r); n != min(want, 7) {
			t.Errorf("%d periods of 15 scrapes", n)
		}
	}
}

// TestCompareWithAHole leaves out what is not on both sides, and says so.
func TestCompareWithAHole(t *testing.T) {
	b := usual("b")
	b.from, b.probes = midnight.Add(3*time.Hour), 4*60*8
	archive := world(usual("a"), b).open(t)
	got, err := archive.Records(t.Context(), Filter{}, hours(6))
	if err != nil {
		t.Fatal(err)
	}
	c, err := archive.Compare(t.Context(), got[0], got[1])
	if err != nil || c.Lines[0].Pairs != 10 || !slices.Contains(c.Warnings, "10 of 20 periods have no sample on one side, and are left out") {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestPage(t *testing.T) {
	archive := world(usual("a"), usual("b")).open(t)
	got, err := archive.Records(t.Context(), Filter{}, hours(6))
	if err != nil {
		t.Fatal(err)
	}
	page, err := archive.Page(t.Context(), "x", []string{"note"}, got)
	if err != nil || len(page.Charts) != 6 || page.Notes[0] != "note" {
		t.Fatalf("%+v, %v", page, err)
	}
	spread, course := page.Charts[0].Series, page.Charts[1].Series
	if len(spread) != 2 || spread[0].Name != "a" || spread[0].Points[0].Y != 0 || spread[0].Points[len(spread[0].Points)-1].Y != 1 {
		t.Errorf("%+v", spread)
	}
	for i := 1; i < len(spread[0].Points); i++ {
		if p, q := spread[0].Points[i-1], spread[0].Points[i]; q.X <= p.X || q.Y < p.Y {
			t.Errorf("%+v after %+v", q, p)
		}
	}
	if len(course) != 2 || course[0].Style != plot.Both || len(course[0].Points) != 200 || course[0].Points[0].X != 54 || math.Abs(course[0].Points[0].Y-0.104) > 0.002 {
		t.Errorf("%+v", course)
	}
}
