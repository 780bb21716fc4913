package promquery

import (
	"time"

	"github.com/prometheus/common/model"
)

// A timeRange is a range of stored time. It begins after from and ends with to.
type timeRange struct{ from, to time.Time }

// length returns the length of r.
func (r timeRange) length() time.Duration { return r.to.Sub(r.from) }

// earlier returns r moved back by some time.
func (r timeRange) earlier(by time.Duration) timeRange {
	return timeRange{from: r.from.Add(-by), to: r.to.Add(-by)}
}

// String returns r as part of a sentence: "from 2026-11-01 00:00:00 UTC to 2026-11-02 00:00:00 UTC".
func (r timeRange) String() string { return "from " + timestamp(r.from) + " to " + timestamp(r.to) }

// timestamp writes a time in UTC.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// duration writes a duration as Prometheus does: 7d, 1h12m.
func duration(d time.Duration) string { return model.Duration(d.Round(time.Second)).String() }

// timeFormats says in hints how a time may be written.
const timeFormats = `a time (2026-11-01T15:04:05Z), a day (2026-11-01, from midnight UTC), "now", ` +
	`or how long ago (24h, 7d)`

// parseTime reads a time in one of the formats of [timeFormats].
func parseTime(text string, now time.Time) (t time.Time, ok bool) {
	ago, err := model.ParseDuration(text)
	if err == nil || text == "now" {
		return now.Add(-time.Duration(ago)), true
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		t, err := time.Parse(layout, text)
		if err == nil {
			return t.UTC(), true
		}
	}
	return t, false
}

// parseRange reads both ends of a range, and reports which of them are times.
func parseRange(from, to string, now time.Time) (r timeRange, fromOK, toOK bool) {
	r.from, fromOK = parseTime(from, now)
	r.to, toOK = parseTime(to, now)
	return r, fromOK, toOK
}
