package probe

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter is how long an answer that turns a client away asks it to stay away:
// 0 if it does not. Retry-After is seconds or a date (RFC 9110, section 10.2.3);
// Azure and OpenAI tell milliseconds as well.
func retryAfter(resp *http.Response) time.Duration {
	if !turnedAway(resp.StatusCode) {
		return 0
	}
	if ms, ok := number(resp.Header.Get("Retry-After-Ms")); ok {
		return bounded(ms, time.Millisecond)
	}
	text := resp.Header.Get("Retry-After")
	if s, ok := number(text); ok {
		return bounded(s, time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// turnedAway reports whether a status says that the server has too much to do.
func turnedAway(status int) bool {
	o := outcomeOf(status)
	return o == RateLimited || o == Overloaded
}

// number is a number that is not negative.
func number(text string) (n float64, ok bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, err == nil && n >= 0
}

// bounded is n units, at most a year, which is for ever.
func bounded(n float64, unit time.Duration) time.Duration {
	const year = 365 * 24 * time.Hour
	if n > float64(year/unit) {
		return year
	}
	return time.Duration(n * float64(unit))
}
