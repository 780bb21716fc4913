package status

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

//go:embed page.html
var pageText string

var (
	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"count": format.Count, "grouped": format.Grouped, "letter": func(o probe.Outcome) string { return letters[o] },
		"seconds": seconds, "latency": latency, "short": format.Short, "elapsed": format.Elapsed,
		"attainment": format.Attainment,
		"length":     func(p report.Phase) string { return format.Seconds(p.To - p.From) },
		"phases":     report.Phases, "place": report.LongestGapPlace, "by": by,
		"half": func(v float64) float64 { return v / 2 },
		"goal": format.Goal,
		"age":  func(t time.Time) string { return format.Elapsed(time.Since(t).Seconds()) },
	}).Parse(pageText))
	pagePolicy = policy(pageText)
)

// policy lets a browser load nothing for the page but what the page itself holds and asks for. Style and script are
// named by their hashes and not by a nonce: a refreshed page must be allowed to hold the same style as the one before.
// Neither holds a template's action, so that their text is that of the answer.
func policy(text string) string {
	return "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
		"style-src " + hashOf(text, "<style>", "</style>") + "; script-src " + hashOf(text, "<script>", "</script>")
}

// hashOf is the source expression of what stands between two tags.
func hashOf(text, open, end string) string {
	_, text, _ = strings.Cut(text, open)
	text, _, _ = strings.Cut(text, end)
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// A section is a group of several targets, or a run of lone ones.
type section struct {
	Group string // empty for lone targets
	Cards []*view
}

func (b *Board) servePage(w http.ResponseWriter, r *http.Request) {
	views, counts := b.views(), map[state]int{}
	for _, v := range views {
		counts[v.State]++
	}
	data := map[string]any{
		"Version": b.version, "Started": b.started, "Ready": b.ready.Load(), "Rejected": b.rejected.Load(),
		"Counts": counts, "Of": len(views), "State": r.FormValue("state"), "Target": r.FormValue("target"),
	}
	views = chosen(views, r.URL.Query())
	if data["Shown"] = len(views); len(views) > mostCards {
		for _, v := range views {
			v.Scales = scalesOf([]*view{v})
		}
		data["Fleet"] = views
		data["Span"] = slices.MinFunc(views, func(a, b *view) int { return cmp.Compare(a.Window, b.Window) }).Span()
	} else {
		data["Sections"] = sections(views)
	}
	render(w, pageTemplate, data)
}

func render(w http.ResponseWriter, page *template.Template, data any) {
	var text bytes.Buffer
	if err := page.Execute(&text, data); err != nil {
		http.Error(w, "render page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes())
}

// sections puts the targets of a group beside each other, with the same scales. Lone targets that follow each other
// share one.
func sections(views []*view) []section {
	groups := map[string][]*view{}
	for _, v := range views {
		name := cmp.Or(v.Group, v.Name)
		groups[name] = append(groups[name], v)
	}
	var list []section
	for _, v := range views {
		group := groups[cmp.Or(v.Group, v.Name)]
		v.Scales = scalesOf(group)
		last := len(list) - 1
		switch {
		case v != group[0]:
		case len(group) > 1:
			list = append(list, section{v.Group, group})
		case last >= 0 && list[last].Group == "":
			list[last].Cards = append(list[last].Cards, v)
		default:
			list = append(list, section{Cards: group})
		}
	}
	return list
}

// A metric is one row of a card's quantiles, which are of the last hour.
type metric struct {
	Key, Name, Long string
	Last            report.Number // of the last result; NaN if it has none
	quantiles
}

// Metrics are the rows of a card's quantiles. A row of the table of targets has the first three.
func (v *view) Metrics() []metric {
	last := cmp.Or(v.Last, &entry{})
	return []metric{
		{"ttft", "TTFT", "time to first token", numberOf(last.TTFT), v.Quantiles.TTFT},
		{"tpot", "TPOT", "time per output token", numberOf(last.TPOT), v.Quantiles.TPOT},
		{"itl", "ITL", "inter-token latency; every token weighs the same, last is the median",
			median(last.itls()), v.Quantiles.ITL},
		{"e2el", "E2EL", "end-to-end latency", numberOf(last.E2EL), v.Quantiles.E2EL},
	}
}

// numberOf returns NaN for what is absent.
func numberOf(v *float64) report.Number {
	if v == nil {
		return report.Number(math.NaN())
	}
	return report.Number(*v)
}

// Remarks are the target's notes, and what is not in the numbers of the last hour.
func (v *view) Remarks() []string {
	notes := slices.Clone(v.Notes)
	for _, text := range v.summary.Excluded {
		notes = append(notes, fmt.Sprintf("last %s: %s", v.Span(), text))
	}
	return notes
}

// Failures are the failed results in memory, newest first.
func (v *view) Failures() []*entry {
	list := slices.DeleteFunc(v.past.kept(), (*entry).OK)
	slices.Reverse(list)
	return list
}

// Span is whose results count: those of the last "hour", or of less.
func (v *view) Span() string {
	if v.Window < window.Seconds() {
		return format.Elapsed(v.Window)
	}
	return "hour"
}

// seconds writes a latency of a result, if it has one.
func seconds(v *float64) string { return latency(numberOf(v)) }

// latency writes a latency, or a dash where there is none.
func latency(v report.Number) string {
	if math.IsNaN(float64(v)) {
		return "–"
	}
	return format.Seconds(float64(v))
}
