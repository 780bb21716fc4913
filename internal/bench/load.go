package bench

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/llm-prober/prober/internal/schedule"
)

// A Load says when the requests of a step begin:
//
//	ByTheClock             in rounds, at the times of Plan: each member is asked once in a round
//	Concurrency above 0    in a closed loop: a worker sends its next request when the one before is answered
//	neither                all at once
//
// Requests or Limit, or both, are above 0. By the clock, Concurrency does not matter here: the targets skip requests.
type Load struct {
	ByTheClock  bool
	Plan        schedule.Plan // in a [Plan] it has no more than an interval, see For
	Concurrency int           // requests to a member under way together; 0: all of them
	Requests    int           // to each member; 0: as many as begin within Limit
	Limit       time.Duration // no request begins later than this; 0: no limit
}

// For returns the load of a group that is configured to start by this plan: only an interval of the load's own counts
// more.
func (l Load) For(configured schedule.Plan) Load {
	if l.ByTheClock {
		configured.Interval = cmp.Or(l.Plan.Interval, configured.Interval)
		l.Plan = configured
	}
	return l
}

// Total returns how many requests each member gets. known is false if only the time limits them.
func (l Load) Total() (n int, known bool) {
	if !l.ByTheClock || l.Limit == 0 {
		return l.Requests, l.Limit == 0
	}
	end := l.Plan.First() + l.Limit // one that is due then is not sent
	for offset := range l.Plan.Offsets() {
		if offset >= end || l.Requests > 0 && n == l.Requests {
			break
		}
		n++
	}
	return n, true
}

// InFlight returns how many requests to a member are under way together at most. It is 0 if the clock decides.
func (l Load) InFlight() int {
	switch {
	case l.ByTheClock:
		return 0
	case l.Concurrency > 0:
		return l.Concurrency
	}
	return l.Requests
}

// String returns what tables call the load: "0.1 QPS", "concurrency 8", "32 at once".
func (l Load) String() string {
	switch {
	case l.ByTheClock:
		qps := float64(time.Second) / float64(l.Plan.Interval)
		return strconv.FormatFloat(qps, 'g', 4, 64) + " QPS"
	case l.Concurrency > 0:
		return fmt.Sprintf("concurrency %d", l.Concurrency)
	}
	return fmt.Sprintf("%d at once", l.Requests)
}
