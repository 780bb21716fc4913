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

// Reserve counts tokens. It reports false, and counts nothing, if the day would have more than limit; 0 is no limit.
func (b *Budget) Reserve(now time.Time, tokens, limit int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if day := dayOf(now); !day.Equal(b.day) {
		b.day, b.used = day, 0
	}
	if limit > 0 && b.used+tokens > limit {
		return false
	}
	b.used += tokens
	return true
}

// Unspent reports whether nothing is spent of the day of now.
func (b *Budget) Unspent(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used == 0 || !dayOf(now).Equal(b.day)
}

// dayOf is the beginning of the day of UTC.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
