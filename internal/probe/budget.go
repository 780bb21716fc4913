package probe

import (
	"sync"
	"time"
)

// A Budget is how many tokens a target may be sent and asked for in a day of
// UTC. It is safe for concurrent use; nil is a budget without limit.
type Budget struct {
	limit int

	mu   sync.Mutex
	day  time.Time
	used int
}

// NewBudget returns a budget of so many tokens a day; nil for 0, no limit.
func NewBudget(tokens int) *Budget {
	if tokens == 0 {
		return nil
	}
	return &Budget{limit: tokens}
}

// Reserve takes tokens from the day's budget. It reports false, and takes
// nothing, if there are not as many left.
func (b *Budget) Reserve(now time.Time, tokens int) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if day := now.UTC().Truncate(24 * time.Hour); !day.Equal(b.day) {
		b.day, b.used = day, 0
	}
	if b.used+tokens > b.limit {
		return false
	}
	b.used += tokens
	return true
}

// inherit takes over what is spent of the day.
func (b *Budget) inherit(old *Budget) {
	if b == nil || old == nil {
		return
	}
	old.mu.Lock()
	day, used := old.day, old.used
	old.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.day, b.used = day, used
}
