package length

import (
	"maps"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/prompt"
)

// A Book holds how servers count the prompts of one length, for all groups of a prober. So it survives a reload, and
// the replicas of a server share it: who begins to ask takes what others of its kind have found. It does not survive
// another model, which is another [key]. It is safe for concurrent use.
type Book struct {
	mu      sync.Mutex // guards all below, and what the [Questions] of all groups know
	records map[key]record
	counts  map[key]countInProgress // the latest of each key
}

// A countInProgress is a count that some member's server has been asked for.
type countInProgress struct {
	began time.Time
	ended chan struct{} // closed at its end
}

// A key says which prompts are counted, and by which server.
type key struct {
	prompts promptForm
	kind    string // of server
	model   string
}

// A promptForm is what decides how prompts of a size are counted, beside the server: the seed only orders their words.
type promptForm struct {
	workload prompt.Workload
	tokens   int
	system   int
	depths   string
}

// NewBook returns a book of nothing.
func NewBook() *Book { return &Book{records: map[key]record{}, counts: map[key]countInProgress{}} }

// read returns what was last noted of a key; Unknown if nothing was. The lock is held.
func (b *Book) read(k key) record {
	r := b.records[k].clone()
	if r.state == "" || r.state == Counting { // somebody else's count is none of the reader's
		r.state = Unknown
	}
	return r
}

// write notes a record. The lock is held.
func (b *Book) write(k key, r record) { b.records[k] = r.clone() }

// begin notes that somebody counts. The caller calls end, without the lock, when that is over. If somebody else has
// begun to count in the last ten seconds, ok is false, and others is closed when that is over. A count that takes
// longer may hang. The lock is held.
func (b *Book) begin(k key) (end func(), others <-chan struct{}, ok bool) {
	other, isBusy := b.counts[k]
	if isBusy && time.Since(other.began) < hedge {
		return nil, other.ended, false
	}
	mine := countInProgress{began: time.Now(), ended: make(chan struct{})}
	b.counts[k] = mine
	end = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		close(mine.ended)
		if b.counts[k] == mine { // else it took so long that somebody else has begun
			delete(b.counts, k)
		}
	}
	return end, nil, true
}

// Keep forgets all that no group of a configuration asks.
func (b *Book) Keep(groups []*Questions) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := map[key]bool{} // without models
	for _, q := range groups {
		for _, kind := range q.Kinds {
			kept[key{prompts: q.form, kind: kind}] = true
		}
	}
	maps.DeleteFunc(b.records, func(k key, _ record) bool { return !kept[key{prompts: k.prompts, kind: k.kind}] })
}
