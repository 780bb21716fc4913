package probe

// contradictions is how many answers in a row must contradict what was learned of a server for it to be asked again.
const contradictions = 3

// unlearn counts the answers in a row that contradict what was learned: another server may be there, or another
// version. After [contradictions] of them the server is asked again what it is, and with all fields.
func (c *Capabilities) unlearn(r *Result, maxTokens int) {
	switch {
	case r.Outcome == OK:
		c.Contradicted = 0
	case c.contradicts(r, maxTokens):
		c.Contradicted++
	}
	if c.Contradicted >= contradictions {
		c.Stale = true
	}
}

// contradicts reports whether a server that has answered such requests rejects one, or one that obeyed the length of
// answers does not.
func (c *Capabilities) contradicts(r *Result, maxTokens int) bool {
	if isRefused(r) {
		return c.Answered
	}
	output := r.Usage.Generated()
	exact := c.ExactLimit || c.ExactOutput
	return r.Outcome == WrongLength && exact && output.Known && output.N != maxTokens
}
