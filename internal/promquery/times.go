package promquery

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// A Range is a range of stored time: after From, up to To, both in whole seconds.
type Range struct{ From, To time.Time }

// Length is the time between both ends.
func (r Range) Length() time.Duration { return r.To.Sub(r.From) }

// Back is the range so much earlier.
func (r Range) Back(d time.Duration) Range { return Range{From: r.From.Add(-d), To: r.To.Add(-d)} }

// String writes the range in UTC.
func (r Range) String() string { return "from " + timestamp(r.From) + " to " + timestamp(r.To) }

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Times is how a time may be written, for hints.
const Times = `a time (2026-11-01T15:04:05Z), a day (2026-11-01, from midnight UTC), seconds since 1970, "now", or how long ago (24h, 7d)`

// errTime says that a text is none of [Times].
var errTime = errors.New("no time")

// ParseTime reads a time as it is written in [Times], to the second.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now.UTC().Truncate(time.Second), nil
	}
	if d, err := ParseAgo(strings.TrimPrefix(text, "-")); err == nil {
		return now.Add(-d).UTC().Truncate(time.Second), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Truncate(time.Second), nil
		}
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 1e9 && s < 1e11 { // less is a slip: "24" for "24h"
		return time.Unix(int64(s), 0).UTC(), nil
	}
	return time.Time{}, errTime
}

// ParseAgo reads a duration as Prometheus writes them: 90m, 7d, 1h30m. It is a second at least.
func ParseAgo(text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	if err != nil || time.Duration(d) < time.Second {
		return 0, errTime
	}
	return time.Duration(d), nil
}

// ParseRange reads FROM/TO, and says whether it is that at all: a slash between two times.
func ParseRange(text string, now time.Time) (r Range, ok bool) {
	from, to, found := strings.Cut(text, "/")
	start, err := ParseTime(from, now)
	end, err2 := ParseTime(to, now)
	return Range{From: start, To: end}, found && err == nil && err2 == nil
}
