package status

import (
	"cmp"
	_ "embed"
	"html/template"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

//go:embed probe.html
var probeText string

var probeTemplate = template.Must(template.Must(pageTemplate.Clone()).New("probe").Parse(probeText))

type difference struct {
	Name         string
	This, Median *float64
}

func by(this, median *float64) string {
	if this == nil || median == nil {
		return "–"
	}
	return map[bool]string{true: "+", false: "−"}[*this >= *median] + format.Seconds(math.Abs(*this-*median))
}

// find is a result in memory and its history; nil if there is none.
func (b *Board) find(id string) (*entry, history) {
	for _, h := range b.copies() {
		list := h.kept()
		if i := slices.IndexFunc(list, func(e *entry) bool { return e.TraceID == id }); i >= 0 {
			return list[i], h
		}
	}
	return nil, history{}
}

const forgotten = "no result with this trace id is in memory: the prober keeps the last results of each target, " +
	"its last failures and the slowest of a day, until it is restarted"

func (b *Board) serveResult(w http.ResponseWriter, r *http.Request) {
	e, _ := b.find(r.PathValue("trace_id"))
	if e == nil {
		refuse(w, http.StatusNotFound, forgotten)
		return
	}
	answer(w, http.StatusOK, map[string]any{"status": "success", "data": e.whole()})
}

func (b *Board) serveProbe(w http.ResponseWriter, r *http.Request) {
	e, h := b.find(r.PathValue("trace_id"))
	if e == nil {
		http.Error(w, forgotten, http.StatusNotFound)
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
