package promquery

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// A timeRange is a range of stored time: after from, up to to, both in whole seconds of UTC.
type timeRange struct{ from, to time.Time }

func (r timeRange) length() time.Duration { return r.to.Sub(r.from) }

func (r timeRange) String() string { return "from " + timestamp(r.from) + " to " + timestamp(r.to) }

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// times is how a time may be written, for hints.
const times = `a time (2026-11-01T15:04:05Z), a day (2026-11-01, from midnight UTC), seconds since 1970, "now", or how long ago (24h, 7d)`

// parseTime reads one of [times], to the second.
func parseTime(text string, now time.Time) (t time.Time, ok bool) {
	s, err := strconv.ParseFloat(text, 64)
	switch ago, isAgo := parseAgo(text); {
	case text == "now" || isAgo:
		return now.Add(-ago).UTC().Truncate(time.Second), true
	case err == nil && s >= 1e9 && s < 1e11: // less is a slip: "24" for "24h"
		return time.Unix(int64(s), 0).UTC(), true
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Truncate(time.Second), true
		}
	}
	return t, false
}

// parseAgo reads a duration as Prometheus writes them, 90m, 7d, 1h30m or -24h, to the second. It is a second at least.
func parseAgo(text string) (d time.Duration, ok bool) {
	ago, err := model.ParseDuration(strings.TrimPrefix(text, "-"))
	d = time.Duration(ago).Truncate(time.Second)
	return d, err == nil && d > 0
}

// parseRange reads FROM/TO, and says whether it is that at all: a slash between two times.
func parseRange(text string, now time.Time) (r timeRange, ok bool) {
	from, to, _ := strings.Cut(text, "/")
	r.from, ok = parseTime(from, now)
	var isTo bool
	r.to, isTo = parseTime(to, now)
	return r, ok && isTo
}
