package status

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

// A probePage is the page of one result beside the median probe of the last hour, which is nil if none succeeded.
type probePage struct {
	Title, Link   string // of what was probed: the address is relative to the page of targets
	Span          string // "hour", or less if it was not watched for so long
	Shown, Median *strip // on the same axis
	Rows          []difference
}

// A difference is a latency of a probe and of the median probe, in seconds; nil if it is absent.
type difference struct {
	Name         string
	This, Median *float64
}

// serveProbe serves the page of one result.
func (b *Board) serveProbe(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("trace_id")
	e, h := b.find(id)
	if e == nil {
		answerForgotten(w, r, id)
		return
	}
	now := time.Now()
	median := medianProbe(h.since(now.Add(-window)))
	shownEnd, _ := extent(e)
	medianEnd, _ := extent(median)
	end := axisEnd(max(shownEnd, medianEnd))
	page := probePage{
		Title: h.title(), Link: h.selection().Link(), Span: newView(h, now, b.links).Span(),
		Shown: newStrip(e, end), Median: newStrip(median, end),
	}
	median = cmp.Or(median, &entry{})
	for _, q := range slowness {
		page.Rows = append(page.Rows, difference{q.Name, q.ValueOf(e), q.ValueOf(median)})
	}
	page.Rows = append(page.Rows, difference{"E2EL", e.E2EL, median.E2EL})
	render(w, http.StatusOK, "probe.html", page)
}

// answerForgotten answers that no result with a trace id is in memory: a browser with a page, others with JSON if they
// accept it, or else with text.
func answerForgotten(w http.ResponseWriter, r *http.Request, id string) {
	accept := r.Header.Get("Accept")
	switch {
	case strings.Contains(accept, "text/html"):
		render(w, http.StatusNotFound, "forgotten.html", id)
	case strings.Contains(accept, "json"):
		refuse(w, http.StatusNotFound, notInMemory)
	default:
		http.Error(w, notInMemory, http.StatusNotFound)
	}
}

// medianProbe returns the entry with the median E2EL, of two the faster one; nil if none has an E2EL.
func medianProbe(entries []*entry) *entry {
	list := slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e.E2EL == nil })
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(*a.E2EL, *b.E2EL) })
	if len(list) == 0 {
		return nil
	}
	return list[(len(list)-1)/2]
}

// signedDifference writes by how much a value is above or below the median, or a dash if one of them is absent.
func signedDifference(this, median *float64) string {
	if this == nil || median == nil {
		return "–"
	}
	sign := "+"
	if *this < *median {
		sign = "−"
	}
	return sign + format.Seconds(math.Abs(*this-*median))
}
