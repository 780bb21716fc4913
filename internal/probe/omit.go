package probe

import (
	"net/http"
	"slices"

	"github.com/llm-prober/prober/internal/wire"
)

// learnRejected returns the fields that the server rejected, besides those already omitted. The caller asks again
// without them. If the server has not answered yet, they are omitted from now on. If it has, only those fields are
// returned that another probe in flight has made to be omitted meanwhile.
func (m *Member) learnRejected(r *Result, omitted []wire.Field) (fields []wire.Field) {
	known := m.Capabilities()
	if !isRefused(r) {
		return nil
	}
	fields = wire.Rejected(known.Dialect, r.rejected, omitted)
	if known.Answered {
		return slices.DeleteFunc(fields, func(f wire.Field) bool { return !slices.Contains(known.Omit, f) })
	}
	m.learn(func(c *Capabilities) { c.omit(fields) })
	return fields
}

// omit adds fields to the omitted ones, each once: several probes may learn the same.
func (c *Capabilities) omit(fields []wire.Field) {
	for _, f := range fields {
		if !slices.Contains(c.Omit, f) {
			c.Omit = append(slices.Clip(c.Omit), f)
		}
	}
}

// keepOmitted notes that a server answers without fields. If this is its first answer, all of them stay omitted: a
// probe in flight with this one, for which omitting them did not help, may have made them be sent again.
func (m *Member) keepOmitted(fields []wire.Field) {
	m.learn(func(c *Capabilities) {
		if !c.Answered {
			c.omit(fields)
		}
	})
}

// restore has fields sent again whose omission did not help, unless it has helped another probe.
func (m *Member) restore(omitted []wire.Field) {
	m.learn(func(c *Capabilities) {
		if c.Answered {
			return
		}
		var useful []wire.Field
		for _, f := range c.Omit {
			if !slices.Contains(omitted, f) {
				useful = append(useful, f)
			}
		}
		c.Omit = useful
	})
}

// isRefused reports whether the server rejected the request as invalid: by its status, within a stream that had begun,
// or as a failure of its own, if it is written in Python and did not know an argument.
func isRefused(r *Result) bool {
	switch r.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return true
	case http.StatusOK:
		return r.Outcome == Rejected
	}
	return r.Status >= http.StatusInternalServerError && wire.UnknownArgument(r.rejected)
}
