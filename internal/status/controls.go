package status

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// Controls are what people may do to targets from the page and through the API.
type Controls struct {
	Permit func(*http.Request) error                                   // why a request may change nothing; nil: it may
	Pause  func(r *http.Request, target string, until time.Time)       // zero: resume
	Probe  func(r *http.Request, target string) (*probe.Result, error) // records the result on the board
}

// How long a pause may last, and does if nothing else is said.
const (
	usualPause    = "1h"
	shortestPause = time.Second
	longestPause  = 7 * 24 * time.Hour
)

// Control serves c below /api/v1/targets/NAME/, and shows its buttons on the page. It is called before the first request.
func (b *Board) Control(mux *http.ServeMux, c Controls) {
	b.controlled = true
	on := func(action string, serve func(w http.ResponseWriter, r *http.Request, target string)) {
		mux.HandleFunc("POST /api/v1/targets/{name}/"+action, func(w http.ResponseWriter, r *http.Request) {
			name := r.PathValue("name")
			b.mu.Lock()
			known := b.history(name) != nil
			b.mu.Unlock()
			if err := c.Permit(r); err != nil {
				refuse(w, http.StatusForbidden, err.Error())
			} else if !known {
				refuse(w, http.StatusNotFound, fmt.Sprintf("no target is called %q", name))
			} else {
				serve(w, r, name)
			}
		})
	}
	on("pause", func(w http.ResponseWriter, r *http.Request, target string) {
		length, err := time.ParseDuration(cmp.Or(r.FormValue("for"), usualPause))
		if err != nil || length < shortestPause || length > longestPause {
			refuse(w, http.StatusBadRequest, fmt.Sprintf("invalid parameter \"for\": %q: want a duration with its unit, from 1s to 168h, for example 2h", r.FormValue("for")))
			return
		}
		until := time.Now().Add(length).UTC().Truncate(time.Second)
		c.Pause(r, target, until)
		done(w, r, cameFrom(r), map[string]any{"target": target, "paused_until": until})
	})
	on("resume", func(w http.ResponseWriter, r *http.Request, target string) {
		c.Pause(r, target, time.Time{})
		done(w, r, cameFrom(r), map[string]any{"target": target, "paused_until": nil})
	})
	on("probe", func(w http.ResponseWriter, r *http.Request, target string) { // answers when the probe has ended
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the probe has a limit of its own; every server of ours can
		result, err := c.Probe(r, target)
		if err != nil {
			refuse(w, http.StatusConflict, err.Error())
			return
		}
		done(w, r, "probes/"+result.TraceID, result.JSON())
	})
}

// cameFrom is the page of targets whose button was pressed, with its query and whatever its path.
func cameFrom(r *http.Request) string {
	from, err := url.Parse(r.Referer())
	if err != nil {
		return ""
	}
	return (&url.URL{RawQuery: from.RawQuery}).String()
}

// done answers a program with data, and leads a browser to a page of ours, which may be served below a path.
func done(w http.ResponseWriter, r *http.Request, page string, data any) {
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Location", "../../../../"+page)
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	answer(w, http.StatusOK, map[string]any{"status": "success", "data": data})
}
