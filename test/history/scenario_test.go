package history

import (
	"slices"
	"testing"
	"time"
)

const (
	learning = 14 * 24 * time.Hour // before the scored days
	scored   = 28 * 24 * time.Hour
	tail     = 2 * time.Hour // in which an alert may still fire when its regression is over: the hour of its window, 30 min that it is kept, and as much again
)

// begin is a Monday.
func begin() time.Time { return time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) }

// regressions are seven times of four hours on as many days, at all hours of a
// day. Those of a cold start lie in the days of learning.
func regressions(cold bool) []regression {
	starts := []time.Duration{ // from the first scored day, a Monday
		1*day + 3*time.Hour, 5*day + 10*time.Hour, 9*day + 14*time.Hour, 14*day + 18*time.Hour,
		17*day + 22*time.Hour, 21*day + 7*time.Hour, 25*day + 12*time.Hour,
	}
	from := begin().Add(learning)
	if cold {
		from = begin()
		starts = []time.Duration{ // from the first day
			10 * time.Hour, 2*day + 14*time.Hour, 4*day + 3*time.Hour, 6*day + 18*time.Hour,
			8*day + 22*time.Hour, 10*day + 7*time.Hour, 12*day + 12*time.Hour,
		}
	}
	var all []regression
	for _, s := range starts {
		all = append(all, regression{from: from.Add(s), to: from.Add(s + 4*time.Hour)})
	}
	return all
}

const day = 24 * time.Hour

// A scenario is a target and what becomes of its server.
type scenario struct {
	name      string
	group     string        // its own name if empty
	seed      uint64        // of the server's noise
	itl, ttft float64       // factors of its regressions; 0 is none
	interval  time.Duration // between probes; 10 s if zero
	classic   bool          // its prober is scraped without native histograms
	cold      bool          // its regressions are in the days of learning
	drift     float64       // of the server from hour to hour; the usual if zero
	weekend   float64       // factor of its latencies on Saturday and Sunday; none if zero
	down      bool          // its server fails instead of being slower
	fine      bool          // scraped and evaluated each 30 s instead of each 2 min
	alert     string        // that is to find it
	least     int           // regressions that it must find for the test to pass
	most      int           // false alerts in the scored days for the test to pass
}

// slower reports whether anything becomes of the server.
func (s scenario) slower() bool { return s.itl > 1 || s.ttft > 1 || s.down }

// run lives the scenarios in one Prometheus and scores each.
func run(t *testing.T, scenarios []scenario) []score {
	t.Helper()
	w := newWorld(t, *rulesFlag)
	for _, s := range scenarios {
		s.seed += 1000 * *noiseFlag
		w.targets = append(w.targets, newWatched(t, s))
	}
	step := 2 * time.Minute
	if scenarios[0].fine {
		step = 30 * time.Second
	}
	if err := w.live(t.Context(), begin(), begin().Add(learning+scored), step); err != nil {
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
	findings []finding // by alert's name
	episodes []*episode
}

// A finding is what an alert did.
type finding struct {
	alert  string
	delays []time.Duration // of the regressions that it found while they lasted, from their start
	wrong  int             // episodes of the scored days that began without a regression
	early  int             // and of the days of learning
}

// score sorts the episodes of a scenario by alert.
func (s scenario) score(fired []*episode) score {
	r := score{scenario: s}
	at := map[string]int{}
	var windows []regression
	if s.slower() {
		windows = regressions(s.cold)
	}
	found := map[string]map[int]bool{}
	for _, e := range fired {
		if e.target != s.name {
			continue
		}
		r.episodes = append(r.episodes, e)
		if _, ok := at[e.alert]; !ok {
			at[e.alert] = len(r.findings)
			r.findings = append(r.findings, finding{alert: e.alert})
			found[e.alert] = map[int]bool{}
		}
		f := &r.findings[at[e.alert]]
		i := slices.IndexFunc(windows, func(w regression) bool { return !e.from.Before(w.from) && e.from.Before(w.to.Add(tail)) })
		switch {
		case i < 0 && e.from.Before(begin().Add(learning)):
			f.early++
		case i < 0:
			f.wrong++
		case e.from.Before(windows[i].to) && !found[e.alert][i]:
			found[e.alert][i] = true
			f.delays = append(f.delays, e.from.Sub(windows[i].from))
		}
	}
	slices.SortFunc(r.findings, func(a, b finding) int { return len(b.delays) - len(a.delays) })
	return r
}

// check fails the test if the alert found fewer than it must, or alerts of any kind
// fired more often without a reason than they may.
func (s score) check(t *testing.T) {
	t.Helper()
	found, wrong := 0, 0
	for _, f := range s.findings {
		wrong += f.wrong
		if f.alert == s.scenario.alert {
			found = len(f.delays)
		}
	}
	if found < s.scenario.least {
		t.Errorf("%s: %s found %d of 7, want at least %d", s.scenario.name, s.scenario.alert, found, s.scenario.least)
	}
	if wrong > s.scenario.most {
		t.Errorf("%s: %d alerts fired without a regression, want at most %d", s.scenario.name, wrong, s.scenario.most)
	}
}
