package config

import (
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // the image has no time zones

	"github.com/llm-prober/prober/internal/usage"
)

// A Window is when a target is probed, each week. The zero value is always.
type Window struct {
	text   string
	days   [7]bool       // on which it opens, from Sunday
	from   time.Duration // after midnight
	length time.Duration
	zone   *time.Location
}

var windowForm = regexp.MustCompile(`^(?:([A-Za-z,-]+) )?([0-9]{2}:[0-9]{2})-([0-9]{2}:[0-9]{2})(?: ([A-Za-z0-9/_+-]+))?$`)

// UnmarshalText reads "Mon-Fri 08:00-18:00 Europe/Berlin". Days are ranges and lists of days; without any it is each day, and
// without a time zone UTC.
func (w *Window) UnmarshalText(text []byte) (err error) {
	parts := windowForm.FindStringSubmatch(string(text))
	if parts == nil {
		return usage.Problem{Text: "not a window of time"}
	}
	next := Window{text: string(text)}
	for part := range strings.SplitSeq(parts[1], ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, to := dayOf(first), dayOf(last)
		switch {
		case parts[1] == "":
			from, to = 0, 6
		case !isRange:
			to = from
		}
		if from < 0 || to < 0 {
			return usage.Problem{Text: "has an unknown day"}
		}
		for day := from; ; day = (day + 1) % 7 {
			if next.days[day] = true; day == to {
				break
			}
		}
	}
	from, wrong := time.Parse("15:04", parts[2])
	to, err := time.Parse("15:04", parts[3])
	if wrong != nil || err != nil {
		return usage.Problem{Text: "has no such time of day"}
	}
	if !to.After(from) {
		to = to.Add(24 * time.Hour) // the next day
	}
	next.from, next.length = time.Duration(from.Hour())*time.Hour+time.Duration(from.Minute())*time.Minute, to.Sub(from)
	if next.zone, err = time.LoadLocation(parts[4]); err != nil {
		return usage.Problem{Text: "has an unknown time zone"}
	}
	*w = next
	return nil
}

// dayOf is a day by the three letters that begin its name, from Sunday; -1 if there is none.
func dayOf(name string) int {
	for day := range 7 {
		if strings.EqualFold(time.Weekday(day).String()[:3], name) {
			return day
		}
	}
	return -1
}

// String is the window as it is configured; "" for the zero value.
func (w Window) String() string { return w.text }

// Equal reports whether both are configured alike.
func (w Window) Equal(o Window) bool { return w.text == o.text }

// Opens is when the window is next open; the zero time if it is open now.
func (w Window) Opens(now time.Time) time.Time {
	for n := -1; w.zone != nil; n++ { // from the window of yesterday, which may still be open
		year, month, day := now.In(w.zone).Date()
		at := func(clock time.Duration) time.Time {
			return time.Date(year, month, day+n, 0, 0, int(clock.Seconds()), 0, w.zone)
		}
		from, to := at(w.from), at(w.from+w.length)
		switch {
		case !w.days[from.Weekday()] || !now.Before(to):
		case now.Before(from):
			return from
		default:
			return time.Time{}
		}
	}
	return time.Time{}
}

// Share is how much of a week the window is open; 1 for the zero value.
func (w Window) Share() float64 {
	if w.zone == nil {
		return 1
	}
	days := 0
	for _, opens := range w.days {
		if opens {
			days++
		}
	}
	return w.length.Hours() * float64(days) / (7 * 24)
}
