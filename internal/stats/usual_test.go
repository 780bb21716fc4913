package stats

import (
	"fmt"
	"testing"
	"time"
)

// TestUsual holds what is usual after runs of equal values, one after another, of which each has a time between them.
func TestUsual(t *testing.T) {
	type run struct {
		values  int
		every   time.Duration
		seconds float64
	}
	const (
		ten    = 10 * time.Second
		minute = time.Minute
	)
	for name, test := range map[string]struct {
		runs []run
		want string
	}{
		"no value":                           {nil, "unknown"},
		"19 values":                          {[]run{{19, ten, 1}}, "unknown"},
		"20 values":                          {[]run{{20, ten, 1}}, "1"},
		"20 rare values":                     {[]run{{20, time.Hour, 1}}, "1"},
		"19 of the last day":                 {[]run{{10, 5 * time.Hour, 1}, {14, time.Hour, 1}}, "unknown"},
		"most values of the first minutes":   {[]run{{31, ten, 1}, {29, ten, 3}}, "1"},
		"a slow period after a usual one":    {[]run{{60, ten, 1}, {60, ten, 3}}, "1"},
		"a slow period before a usual one":   {[]run{{60, ten, 3}, {60, ten, 1}}, "1"},
		"and half of another":                {[]run{{60, ten, 1}, {90, ten, 3}}, "3"},
		"most of a day":                      {[]run{{13 * 60, minute, 1}, {11 * 60, minute, 3}}, "1"},
		"a slowdown of more than half a day": {[]run{{24 * 60, minute, 1}, {12*60 + 10, minute, 3}}, "3"},
		"rare values: their median":          {[]run{{30, 20 * minute, 1}, {20, 20 * minute, 3}}, "1"},
		"of many values the first":           {[]run{{periodValues, time.Second, 1}, {300, time.Second, 3}}, "1"},
		"tokens that come together":          {[]run{{60, ten, shortestUsual}}, "unknown"},
		"and just not together":              {[]run{{60, ten, 0.000123}}, "0.000123"},
	} {
		var u Usual
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for _, r := range test.runs {
			for range r.values {
				now = now.Add(r.every)
				u.Add(now, r.seconds)
			}
		}
		got := "unknown"
		if seconds, ok := u.Value(now); ok {
			got = fmt.Sprint(seconds)
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

// TestUsualIsForgotten holds that values of more than a day ago are forgotten even if no other came after them.
func TestUsualIsForgotten(t *testing.T) {
	var u Usual
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range LeastUsual {
		u.Add(start, 1)
	}
	if _, ok := u.Value(start.Add(24 * time.Hour)); !ok {
		t.Error("unknown after a day")
	}
	if _, ok := u.Value(start.Add(24*time.Hour + 1)); ok {
		t.Error("known after more than a day")
	}
}

// TestUsualIsBounded holds how much of many values is kept.
func TestUsualIsBounded(t *testing.T) {
	var u Usual
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 3 * 24 * 3600 {
		now = now.Add(time.Second)
		u.Add(now, 1)
	}
	if len(u.past) > usualPeriods || len(u.values) > periodValues {
		t.Errorf("kept %d medians and %d values", len(u.past), len(u.values))
	}
}
