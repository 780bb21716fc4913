package status

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

// What follows from pageText, and is only read.
var (
	pageTemplate = template.Must(template.New("page").Parse(pageText))
	pagePolicy   = policy(pageText)
)

// policy lets a browser load nothing for the page but what the page itself holds
// and asks for. Style and script are named by their hashes and not by a nonce: a
// refreshed page must be allowed to hold the same style as the one before.
// Neither holds a template's action, so that their text is that of the answer.
func policy(text string) string {
	return strings.Join([]string{
		"default-src 'none'",
		"style-src " + hashOf(text, "<style>", "</style>"),
		"script-src " + hashOf(text, "<script>", "</script>"),
		"connect-src 'self'",
		"img-src data:",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
	}, "; ")
}

// hashOf is the source expression of what stands between two tags.
func hashOf(text, open, end string) string {
	_, text, _ = strings.Cut(text, open)
	text, _, _ = strings.Cut(text, end)
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// A page is everything that page.html shows.
type page struct {
	Title    string
	Version  string
	Uptime   string
	Ready    bool
	Rejected *rejected
	Counts   []stateCount
	Sections []section
	Legend   []string // stages
}

// Rejected is a configuration that was found wrong.
type rejected struct{ Since, Consequence, Problem string }

// A stateCount is how many targets are in a state.
type stateCount struct {
	State state
	N     int
}

// A section is a group of several targets, or a run of lone ones.
type section struct {
	Group string // empty for lone targets
	Cards []card
}

func (b *Board) servePage(w http.ResponseWriter, _ *http.Request) {
	var text bytes.Buffer
	if err := pageTemplate.Execute(&text, b.page()); err != nil {
		http.Error(w, "render page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes())
}

func (b *Board) page() page {
	snapshots := b.snapshots()
	p := page{
		Version: b.version, Uptime: span(time.Since(b.started)), Ready: b.ready.Load(),
		Counts: counts(snapshots), Sections: sections(snapshots),
		Legend: []string{"dns", "connect", "tls", "write", "wait", "first", "decode"},
	}
	p.Title = title(p.Counts)
	if r := b.rejection(); r != nil {
		p.Rejected = &rejected{span(time.Since(r.At)), r.Consequence, r.Problem}
	}
	return p
}

// counts leaves out states in which no target is.
func counts(snapshots []snapshot) []stateCount {
	var list []stateCount
	for _, st := range []state{failing, hanging, waiting, fine} {
		n := 0
		for i := range snapshots {
			if snapshots[i].state == st {
				n++
			}
		}
		if n > 0 {
			list = append(list, stateCount{st, n})
		}
	}
	return list
}

// title puts what needs eyes first, where a narrow browser tab still shows it.
func title(counts []stateCount) string {
	var words []string
	for _, c := range counts {
		words = append(words, fmt.Sprintf("%d %s", c.N, c.State))
	}
	return strings.Join(append(words, "prober"), " · ")
}

// sections puts the targets of a group beside each other, where the first of
// them stands. Lone targets that follow each other share a section.
func sections(snapshots []snapshot) []section {
	var order []string
	groups := map[string][]*snapshot{}
	for i := range snapshots {
		s := &snapshots[i]
		name := s.target.Group
		if name == "" {
			name = s.target.Name
		}
		if groups[name] == nil {
			order = append(order, name)
		}
		groups[name] = append(groups[name], s)
	}
	var list []section
	for _, name := range order {
		cards := cards(groups[name])
		switch {
		case len(cards) > 1:
			list = append(list, section{Group: name, Cards: cards})
		case len(list) > 0 && list[len(list)-1].Group == "":
			lone := &list[len(list)-1]
			lone.Cards = append(lone.Cards, cards...)
		default:
			list = append(list, section{Cards: cards})
		}
	}
	return list
}

// cards draws the targets of a group by the same scales.
func cards(group []*snapshot) []card {
	top, right := barLimit(group), stripLimit(group)
	list := make([]card, 0, len(group))
	for _, s := range group {
		c := s.card()
		c.Plot = s.plot(top, right)
		list = append(list, c)
	}
	return list
}
