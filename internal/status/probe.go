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
)

//go:embed probe.html
var probeText string

var probeTemplate = template.Must(template.Must(pageTemplate.Clone()).New("probe").Parse(probeText))

// A difference is one row of the comparison with the median probe.
type difference struct {
	Name         string
	This, Median *float64
}

// by is how much slower this is, with its sign.
func by(this, median *float64) string {
	if this == nil || median == nil {
		return "–"
	}
	return map[bool]string{true: "+", false: "−"}[*this >= *median] + format.Seconds(math.Abs(*this-*median))
}

// find is a result in memory and its history, or else the code of the answer and why there is none.
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
	if e == nil {
		refuse(w, code, text)
		return
	}
	answer(w, code, map[string]any{"status": "success", "data": e.account()})
}

// serveProbe shows one result beside the median probe of its target.
func (b *Board) serveProbe(w http.ResponseWriter, r *http.Request) {
	e, h, code, text := b.find(r.PathValue("trace_id"))
	if e == nil {
		http.Error(w, text, code)
		return
	}
	median := medianProbe(h.since(time.Now().Add(-window)))
	end, _ := extent(e)
	other, _ := extent(median)
	end = nice(max(end, other))
	var rows []difference
	last := cmp.Or(median, &entry{})
	for _, q := range slowness {
		rows = append(rows, difference{q.Name, q.Of(e), q.Of(last)})
	}
	rows = append(rows, difference{"E2EL", e.E2EL, last.E2EL})
	render(w, probeTemplate, map[string]any{"Shown": newStrip(e, end), "Median": newStrip(median, end), "Rows": rows})
}

// medianProbe is the one in the middle by E2EL; nil if none has an E2EL.
func medianProbe(entries []*entry) *entry {
	list := slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e.E2EL == nil })
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(*a.E2EL, *b.E2EL) })
	if len(list) == 0 {
		return nil
	}
	return list[(len(list)-1)/2]
}
