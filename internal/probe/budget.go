package probe

import (
	"sync"
	"time"
)

// A Budget is how many tokens a target may be sent and asked for in a day of UTC. It counts them without a limit as
// well, so that one that is set later holds for the whole day. It is safe for concurrent use; nil has no limit and
// counts nothing.
type Budget struct {
	mu    sync.Mutex
	limit int // 0: none
	day   time.Time
	used  int
}

// NewBudget returns a budget of so many tokens a day; 0 is no limit.
func NewBudget(tokens int) *Budget { return &Budget{limit: tokens} }

// SetLimit changes the tokens a day; what is spent of today stays spent.
func (b *Budget) SetLimit(tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = tokens
}

// Reserve takes tokens from the day's budget. It reports false, and takes nothing, if there are not as many left.
func (b *Budget) Reserve(now time.Time, tokens int) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if day := dayOf(now); !day.Equal(b.day) {
		b.day, b.used = day, 0
	}
	if b.limit > 0 && b.used+tokens > b.limit {
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
