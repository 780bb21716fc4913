package history

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/rules"
)

const (
	learning = 14 * 24 * time.Hour // before the scored days
	scored   = 28 * 24 * time.Hour
	late     = 5 * time.Minute // after the end of a regression, or three intervals: an alert that begins then is a false one
)

// begin is a Monday.
func begin() time.Time { return time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) }

// regressions are seven times of four hours on as many days, at all hours of a
// day. Those of a cold start lie in the days of learning. One that begins on a
// given day is the only one.
func (s scenario) regressions() []regression {
	if s.begins > 0 {
		from := begin().AddDate(0, 0, s.begins-1).Add(s.at)
		return []regression{{from: from, to: from.Add(lasts)}}
	}
	starts := []time.Duration{ // from the first scored day, a Monday
		1*day + 3*time.Hour, 5*day + 10*time.Hour, 9*day + 14*time.Hour, 14*day + 18*time.Hour,
		17*day + 22*time.Hour, 21*day + 7*time.Hour, 25*day + 12*time.Hour,
	}
	from := begin().Add(learning)
	if s.cold {
		from = begin()
		starts = []time.Duration{ // from the first day
			10 * time.Hour, 2*day + 14*time.Hour, 4*day + 3*time.Hour, 6*day + 18*time.Hour,
			8*day + 22*time.Hour, 10*day + 7*time.Hour, 12*day + 12*time.Hour,
		}
	}
	var all []regression
	for _, start := range starts {
		all = append(all, regression{from: from.Add(start), to: from.Add(start + lasts)})
	}
	return all
}

const (
	day   = 24 * time.Hour
	lasts = 4 * time.Hour // of a regression
)

// A scenario is a target and what becomes of its server.
type scenario struct {
	name      string
	group     string        // its own name if empty
	workload  string        // whose replica it is; of none if empty
	seed      uint64        // of the server's noise
	itl, ttft float64       // factors of its regressions; 0 is none
	interval  time.Duration // between probes; 10 s if zero
	classic   bool          // its prober is scraped without native histograms
	cold      bool          // its regressions are in the days of learning
	begins    int           // the day, from 1, of its only regression; 0 for the usual ones
	at        time.Duration // the time of that day
	drift     float64       // of the server from hour to hour; the usual if zero
	weekend   float64       // factor of its latencies on Saturday and Sunday; none if zero
	down      bool          // its server fails instead of being slower
	fine      bool          // scraped and evaluated each 30 s instead of each 2 min
	alert     string        // that is to find it
}

// run lives the scenarios in one Prometheus for a time, and scores each. Named
// groups of rules are the only ones.
func run(t *testing.T, scenarios []scenario, life time.Duration, groups ...string) []score {
	t.Helper()
	w := newWorld(t, *rulesFlag)
	isLeftOut := func(g *rules.Group) bool { return len(groups) > 0 && !slices.Contains(groups, g.Name()) }
	w.groups = slices.DeleteFunc(w.groups, isLeftOut)
	for _, s := range scenarios {
		s.seed += 1000 * *noiseFlag
		w.targets = append(w.targets, newWatched(t, s))
	}
	step := 2 * time.Minute
	if scenarios[0].fine {
		step = 30 * time.Second
	}
	if err := w.live(t.Context(), begin(), begin().Add(life), step); err != nil {
		t.Fatal(err)
	}
	var all []score
	for _, s := range scenarios {
		all = append(all, s.score(w.fired))
	}
	return all
}

// A score is what one alert did about a scenario.
type score struct {
	scenario scenario
	findings []*finding // one for each alert that fired
	episodes []*episode
}

// A finding is what an alert did.
type finding struct {
	alert  string
	found  map[int]bool          // regressions that it found while they lasted
	delays []time.Duration       // of them, from their start
	ends   map[int]time.Duration // of them, from their end
	wrong  int                   // episodes of the scored days that began without a regression, or too late after one
	early  int                   // and of the days of learning
}

// score sorts the episodes of a scenario by alert.
func (s scenario) score(fired []*episode) score {
	r := score{scenario: s}
	var windows []regression
	if s.itl > 1 || s.ttft > 1 || s.down {
		windows = s.regressions()
	}
	by := map[string]*finding{}
	for _, e := range fired {
		if e.target != s.name {
			continue
		}
		r.episodes = append(r.episodes, e)
		f := by[e.alert]
		if f == nil {
			f = &finding{alert: e.alert, found: map[int]bool{}, ends: map[int]time.Duration{}}
			by[e.alert], r.findings = f, append(r.findings, f)
		}
		i := slices.IndexFunc(windows, func(w regression) bool {
			return !e.from.Before(w.from) && e.from.Before(w.to.Add(max(late, 3*s.interval)))
		})
		if i >= 0 && e.to.After(windows[i].to) {
			f.ends[i] = e.to.Sub(windows[i].to)
		}
		switch {
		case i < 0 && e.from.Before(begin().Add(learning)):
			f.early++
		case i < 0:
			f.wrong++
		case e.from.Before(windows[i].to) && !f.found[i]:
			f.found[i] = true
			f.delays = append(f.delays, e.from.Sub(windows[i].from))
		}
	}
	slices.SortFunc(r.findings, func(a, b *finding) int { return len(b.delays) - len(a.delays) })
	return r
}
