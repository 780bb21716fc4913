package length

import (
	"errors"

	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/wire"
)

// A Snapshot is what is known of the length of a member's prompts at one moment.
type Snapshot struct {
	Asked int // tokens; 0: each prompt has a length of its own, and nothing else is set

	Exact    bool   // a member has counted them
	Off      int    // by how many tokens they are longer than asked, if Exact
	Method   Method // how the latest count was made; empty: there was none
	By       string // the target that made it
	ByItself bool   // By is the member's own
	Requests int    // with short answers that it took; they are recorded nowhere

	Estimated bool       // its server counts nothing, so that an estimate has to do
	Failure   error      // why the length is not known; nil if it is, and while it is being counted for the first time
	Counted   wire.Count // the tokens that its server counted in its last prompt
}

// Snapshot returns what is known now for member i.
func (q *Questions) Snapshot(i int) Snapshot {
	if q.Prompts.Workload == prompt.Dataset {
		return Snapshot{}
	}
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	q.update()
	record := q.members[q.by].record
	s := Snapshot{
		Asked:    q.Prompts.Tokens,
		Exact:    q.isExact(),
		Method:   record.method,
		By:       q.Members[q.by].Name(),
		ByItself: q.by == i,
		Requests: record.requests,
		Counted:  q.members[i].counted,
	}
	if s.Exact {
		s.Off = record.found.tokens - q.Prompts.Tokens
		return s
	}
	s.Estimated = q.members[i].record.state == Estimated
	if !errors.Is(q.failure, errCounting) {
		s.Failure = q.failure
	}
	return s
}
