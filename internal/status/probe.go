package status

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
)

//go:embed probe.html
var probeText string

var probeTemplate = template.Must(template.Must(pageTemplate.Clone()).New("probe").Parse(probeText))

// A probePage is everything that probe.html shows.
type probePage struct {
	Shown  *strip
	Median *strip // the target's median probe; nil if there is none but the one shown
	End    float64
	Phases []report.Phase
	Rows   []difference
}

// HasMedian reports whether the target has a median probe, be it the one that is shown.
func (p probePage) HasMedian() bool { return p.Rows[len(p.Rows)-1].Median != nil }

// A difference is one row of the comparison with the median probe.
type difference struct {
	Name         string
	This, Median *float64
}

// By is how much slower this one is, with its sign.
func (d difference) By() string {
	if d.This == nil || d.Median == nil {
		return "–"
	}
	by := *d.This - *d.Median
	return map[bool]string{true: "+", false: "−"}[by >= 0] + format.Seconds(math.Abs(by))
}

// find is a result in memory and the history that it is of. The text says why there is
// none, and code is that of the answer then.
func (b *Board) find(id string) (e *entry, h history, code int, text string) {
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil, h, http.StatusBadRequest, fmt.Sprintf("invalid trace id %q: want 32 hexadecimal digits in lower case", format.Shorten(id, 64))
	}
	for _, h := range b.copies() {
		list := h.kept()
		if i := slices.IndexFunc(list, func(e *entry) bool { return e.TraceID == id }); i >= 0 {
			return list[i], h, http.StatusOK, ""
		}
	}
	return nil, h, http.StatusNotFound, "no result with the trace id " + id + " is in memory: the prober keeps the last " +
		"results of each target, its last failures and the slowest of a day, until it is restarted"
}

// serveResult answers with one result.
func (b *Board) serveResult(w http.ResponseWriter, r *http.Request) {
	e, _, code, text := b.find(r.PathValue("trace_id"))
	switch code {
	case http.StatusBadRequest:
		answer(w, code, map[string]string{"status": "error", "errorType": "bad_data", "error": text})
	case http.StatusNotFound:
		answer(w, code, map[string]string{"status": "error", "errorType": "not_found", "error": text})
	default:
		answer(w, code, map[string]any{"status": "success", "data": e.account()})
	}
}

// serveProbe shows one result beside the median probe of its target.
func (b *Board) serveProbe(w http.ResponseWriter, r *http.Request) {
	e, h, code, text := b.find(r.PathValue("trace_id"))
	if e == nil {
		plain(w, code, text+"\n")
		return
	}
	median := medianProbe(h.since(time.Now().Add(-window)))
	end, _ := extent(e)
	if median != nil {
		other, _ := extent(median)
		end = max(end, other)
	}
	p := probePage{End: nice(end), Phases: report.Phases(&e.Account)}
	if p.Shown = newStrip(e, p.End); median != nil && median != e {
		p.Median = newStrip(median, p.End)
	}
	last := cmp.Or(median, &entry{})
	for _, q := range slowness {
		p.Rows = append(p.Rows, difference{q.name, q.of(e), q.of(last)})
	}
	p.Rows = append(p.Rows, difference{"E2EL", e.E2EL, last.E2EL})
	render(w, probeTemplate, p)
}

// medianProbe is the success whose E2EL is the nearest to the median of all; nil if there
// is no success.
func medianProbe(entries []*entry) (nearest *entry) {
	var all []float64
	for _, e := range entries {
		all = appendKnown(all, e.E2EL)
	}
	middle := median(all)
	for _, e := range entries {
		if e.E2EL != nil && (nearest == nil || math.Abs(*e.E2EL-*middle) < math.Abs(*nearest.E2EL-*middle)) {
			nearest = e
		}
	}
	return nearest
}

// Place is where the longest gap is; empty if that is not known.
func (s *strip) Place() string { return report.GapPlace(&s.Account) }

// Longest is the longest gap on the axis, if it is known.
func (s *strip) Longest() []piece {
	i, ok := report.LongestGap(&s.Account)
	if !ok {
		return nil
	}
	end := s.Elapsed
	if i < len(s.Arrivals) {
		end = s.Arrivals[i]
	}
	return scaled([]report.Phase{{Name: "longest", From: s.Arrivals[i-1], To: end}}, s.End, 100)
}
