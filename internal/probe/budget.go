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

// Reserve counts tokens of a request that starts at now. It reports false, and counts nothing, if the day would have
// more than limit; 0 is no limit.
func (b *Budget) Reserve(now time.Time, tokens, limit int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	day := dayOf(now)
	if !b.holds(day) {
		b.day, b.used = day, 0
	}
	if limit > 0 && b.used+tokens > limit {
		return false
	}
	b.used += tokens
	return true
}

// holds reports whether tokens of a day count as those of the day that is counted: also those of the day before, whose
// request began before midnight and came here after one of today. A clock that was set back further begins a new day.
func (b *Budget) holds(day time.Time) bool {
	return day.Equal(b.day) || day.Equal(b.day.Add(-24*time.Hour))
}

// Return takes back what was reserved at a time for a request that was never sent.
func (b *Budget) Return(reserved time.Time, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holds(dayOf(reserved)) {
		b.used = max(0, b.used-tokens)
	}
}

// Unspent reports whether nothing is spent of the day of now.
func (b *Budget) Unspent(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used == 0 || !dayOf(now).Equal(b.day)
}

// dayOf returns the beginning of the day, by UTC.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
