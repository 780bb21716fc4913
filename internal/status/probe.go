package status

import (
	"cmp"
	_ "embed"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

var (
	//go:embed probe.html
	probeText string
	//go:embed forgotten.html
	forgottenText string
)

var (
	probeTemplate     = template.Must(template.Must(pageTemplate.Clone()).New("probe").Parse(probeText))
	forgottenTemplate = template.Must(template.Must(pageTemplate.Clone()).New("forgotten").Parse(forgottenText))
)

// A difference is a latency of a probe and of the median probe, in seconds; nil if it is absent.
type difference struct {
	Name         string
	This, Median *float64
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

// find returns the result in memory that has a trace id, and the history of its target. The entry is nil if there is
// none.
func (b *Board) find(id string) (*entry, history) {
	for _, h := range b.copies() {
		for _, e := range h.kept() {
			if e.TraceID == id {
				return e, h
			}
		}
	}
	return nil, history{}
}

const forgotten = "no result with this trace id is in memory: the prober keeps the last results of each target, " +
	"its last failures and the slowest of a day, until it is restarted"

// serveResult serves one result as JSON.
func (b *Board) serveResult(w http.ResponseWriter, r *http.Request) {
	e, _ := b.find(r.PathValue("trace_id"))
	if e == nil {
		refuse(w, http.StatusNotFound, forgotten)
		return
	}
	answer(w, http.StatusOK, map[string]any{"status": "success", "data": e.whole()})
}

// serveProbe serves the page of one result beside the median probe of the last hour.
func (b *Board) serveProbe(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("trace_id")
	e, h := b.find(id)
	if e == nil {
		answerForgotten(w, r, id)
		return
	}
	median := medianProbe(h.since(time.Now().Add(-window)))
	shownEnd, _ := extent(e)
	medianEnd, _ := extent(median)
	end := axisEnd(max(shownEnd, medianEnd))
	render(w, http.StatusOK, probeTemplate, map[string]any{
		"Shown":  newStrip(e, end),
		"Median": newStrip(median, end),
		"Rows":   differences(e, cmp.Or(median, &entry{})),
	})
}

// answerForgotten answers that no result with a trace id is in memory: a browser with a page, others with JSON if they
// accept it, or else with text.
func answerForgotten(w http.ResponseWriter, r *http.Request, id string) {
	accept := r.Header.Get("Accept")
	switch {
	case strings.Contains(accept, "text/html"):
		render(w, http.StatusNotFound, forgottenTemplate, id)
	case strings.Contains(accept, "json"):
		refuse(w, http.StatusNotFound, forgotten)
	default:
		http.Error(w, forgotten, http.StatusNotFound)
	}
}

// differences returns the rows of the table that compares a probe with the median probe.
func differences(e, median *entry) (rows []difference) {
	for _, q := range slowness {
		rows = append(rows, difference{q.Name, q.Of(e), q.Of(median)})
	}
	return append(rows, difference{"E2EL", e.E2EL, median.E2EL})
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
