package bench

import (
	"fmt"
	"strconv"
	"time"
)

// A Wish is what somebody asked a bench to do. The zero value of a field is that
// nothing was said.
type Wish struct {
	Requests int
	Duration time.Duration
	Unpaced  bool // there is no clock
	AtOnce   int
	Ladder   []int
}

// usual is how many requests there are where nobody says how many: a comparison
// of so many rounds can show a difference.
const usual = 10

// Loads are the steps that fulfil a wish. The plan of a load by the clock is the
// group's own: here it is only there or not.
//
// A ladder is so many requests at once in each step; or, where their number or
// the time is given as well, so many at a time.
func (w Wish) Loads() []Load {
	l := Load{Requests: w.Requests, Limit: w.Duration, AtOnce: w.AtOnce}
	if l.Requests == 0 && l.Limit == 0 && len(w.Ladder) == 0 {
		l.Requests = usual * max(1, w.AtOnce)
	}
	if len(w.Ladder) == 0 {
		return []Load{l}
	}
	var loads []Load
	for _, n := range w.Ladder {
		step := l
		step.AtOnce = n
		if l.Requests == 0 && l.Limit == 0 {
			step.AtOnce, step.Requests = 0, n
		}
		loads = append(loads, step)
	}
	return loads
}

// Paced reports whether requests begin by the clock.
func (w Wish) Paced() bool { return !w.Unpaced && len(w.Ladder) == 0 }

// Words are what a load is called.
func (l Load) Words() string {
	switch {
	case l.Planned():
		qps := float64(time.Second) / float64(l.Plan.Interval)
		return strconv.FormatFloat(qps, 'g', 4, 64) + " QPS"
	case l.AtOnce > 0:
		return fmt.Sprintf("%d at a time", l.AtOnce)
	}
	return fmt.Sprintf("%d at once", l.Requests)
}

// Crowd is how many requests are under way together at most; 0 where the clock
// decides.
func (l Load) Crowd() int {
	switch {
	case l.Planned():
		return 0
	case l.AtOnce > 0:
		return l.AtOnce
	}
	return l.Requests
}
