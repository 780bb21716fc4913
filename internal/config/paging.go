package config

import "math"

// A page is sent when the error budget burns 14.4 times as fast as it may, over one hour (SRE workbook, chapter 5), and
// at least three probes of that hour were bad. Where 14.4 times the budget is above 1, all probes of the hour are bad
// before.
const (
	pageProbes = 3.0
	pageBurn   = 14.4
	perHour    = 3600
	rounding   = 1e-9 // relative; floats must not refuse what is equal on paper
)

// canPage reports whether the page for a goal needs at least three bad probes in an hour.
func canPage(qps, goal float64) bool {
	return qps*perHour*pageShare(goal) >= pageProbes*(1-rounding)
}

// pageShare returns which share of an hour's probes is bad when a goal pages.
func pageShare(goal float64) float64 { return min(1, pageBurn*(1-goal)) }

// leastRate returns the lowest rate, in two digits, at which a goal can page.
func leastRate(goal float64) float64 { return roundUp(pageProbes / (perHour * pageShare(goal))) }

// bestGoal returns the highest goal, its budget in two digits, that can page at a rate. ok is false if none can.
func bestGoal(qps float64) (goal float64, ok bool) {
	budget := pageProbes / (perHour * pageBurn * qps)
	if pageBurn*budget > 1+rounding {
		return 0, false
	}
	goal = 1 - roundUp(budget)
	if !canPage(qps, goal) { // 14.4 times what was rounded up is above 1
		goal = 1 - budget
	}
	return goal, true
}

// roundUp rounds v, above 0, up to two significant digits.
func roundUp(v float64) float64 { return twoDigits(v*(1-rounding), math.Ceil) }

// roundDown rounds v, above 0, down to two significant digits.
func roundDown(v float64) float64 { return twoDigits(v*(1+rounding), math.Floor) }

// twoDigits rounds v, above 0, to two significant digits.
func twoDigits(v float64, round func(float64) float64) float64 {
	unit := math.Pow10(1 - int(math.Floor(math.Log10(v))))
	return round(v*unit) / unit
}
