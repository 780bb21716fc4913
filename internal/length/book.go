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
	mu       sync.Mutex
	records  map[key]record
	attempts map[key]attempt // the latest of each that has not ended
}

// An attempt is a count that somebody is at.
type attempt struct {
	began time.Time
	ended chan struct{} // closed at its end
}

// A key is which prompts of which server are counted.
type key struct {
	text  text
	kind  string // of server
	model string
}

// A text is what decides how prompts are counted, beside the server: the seed only orders their words.
type text struct {
	workload prompt.Workload
	tokens   int
	system   int
	depth    float64
}

// NewBook returns a book of nothing.
func NewBook() *Book { return &Book{records: map[key]record{}, attempts: map[key]attempt{}} }

// read returns what was last noted of a key; Unknown if nothing was.
func (b *Book) read(k key) record {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[k].clone()
	if r.state == "" || r.state == Counting {
		r.state = Unknown
	}
	return r
}

func (b *Book) write(k key, r record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records[k] = r.clone()
}

// begin notes that somebody counts. The caller calls end when that is over. If somebody else has begun to count in the
// last ten seconds, ok is false, and others is closed when that is over. One that takes longer may hang.
func (b *Book) begin(k key) (end func(), others <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	other, isBusy := b.attempts[k]
	if isBusy && time.Since(other.began) < hedge {
		return nil, other.ended, false
	}
	mine := attempt{began: time.Now(), ended: make(chan struct{})}
	b.attempts[k] = mine
	return func() { b.end(k, mine) }, nil, true
}

// end notes that a count is over.
func (b *Book) end(k key, over attempt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(over.ended)
	if b.attempts[k] == over {
		delete(b.attempts, k)
	}
}

// Keep forgets all that no group of a configuration asks.
func (b *Book) Keep(groups []*Questions) {
	type asked struct {
		text text
		kind string
	}
	kept := map[asked]bool{}
	for _, q := range groups {
		for _, kind := range q.Kinds {
			kept[asked{q.text, kind}] = true
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.records, func(k key, _ record) bool { return !kept[asked{k.text, k.kind}] })
}
