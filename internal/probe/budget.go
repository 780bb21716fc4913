package probe

import (
	"sync"
	"time"
)

// A Budget counts the tokens that a target was sent and asked for in a day of UTC. It is safe for concurrent use.
type Budget struct {
	mu   sync.Mutex
	day  time.Time
	used int
}

// beforeMidnight is how long before the day that is counted a request may start and still count as one of that day. It
// was overtaken by a request of the new day, or the clock was set back a little. A clock that is set back further
// begins another day, so that no two days share a budget.
const beforeMidnight = 10 * time.Second

// Reserve counts tokens of a request that starts at now, and returns the day of which they are counted. ok is false,
// and nothing is counted, if that day would have more than limit; 0 is no limit.
func (b *Budget) Reserve(now time.Time, tokens, limit int) (day time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	early := b.day.Sub(now) // negative once the day has begun
	isJustBefore := 0 <= early && early <= beforeMidnight
	if !dayOf(now).Equal(b.day) && !isJustBefore {
		b.day, b.used = dayOf(now), 0
	}
	if limit > 0 && b.used+tokens > limit {
		return b.day, false
	}
	b.used += tokens
	return b.day, true
}

// Return takes back what was reserved of a day for a request that was never sent, unless another day has begun.
func (b *Budget) Return(day time.Time, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if day.Equal(b.day) {
		b.used = max(0, b.used-tokens)
	}
}

// IsUnused reports whether nothing is spent of the day of now.
func (b *Budget) IsUnused(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used == 0 || !dayOf(now).Equal(b.day)
}

// dayOf returns the beginning of the day, by UTC.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
