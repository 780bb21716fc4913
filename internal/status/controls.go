package status

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// Controls are what people may do to targets from the page and through the API.
type Controls struct {
	Permit func(*http.Request) error                                       // why a request may change nothing; nil: it may
	Pause  func(r *http.Request, target string, until time.Time)           // zero: resume
	Probe  func(ctx context.Context, target string) (*probe.Result, error) // records the result on the board
}

// How long a pause may last, and does if nothing else is said.
const (
	usualPause   = time.Hour
	longestPause = 7 * 24 * time.Hour
)

// Control serves c below /api/v1/targets/NAME/, and shows its buttons on the page. It is called before the first request.
func (b *Board) Control(mux *http.ServeMux, c Controls) {
	b.controlled = true
	for action, serve := range map[string]func(Controls, http.ResponseWriter, *http.Request){
		"pause": b.servePause, "resume": b.serveResume, "probe": b.serveProbeNow,
	} {
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
				serve(c, w, r)
			}
		})
	}
}

func (b *Board) servePause(c Controls, w http.ResponseWriter, r *http.Request) {
	length := usualPause
	if text := r.FormValue("for"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil || length <= 0 || length > longestPause {
			refuse(w, http.StatusBadRequest, fmt.Sprintf("invalid parameter \"for\": %q: want a duration with its unit, at most 168h, for example 2h", text))
			return
		}
	}
	until := time.Now().Add(length).UTC().Truncate(time.Second)
	c.Pause(r, r.PathValue("name"), until)
	done(w, r, "", map[string]any{"target": r.PathValue("name"), "paused_until": until})
}

func (b *Board) serveResume(c Controls, w http.ResponseWriter, r *http.Request) {
	c.Pause(r, r.PathValue("name"), time.Time{})
	done(w, r, "", map[string]any{"target": r.PathValue("name"), "paused_until": nil})
}

// serveProbeNow answers with the result, when the probe has ended.
func (b *Board) serveProbeNow(c Controls, w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the probe has a limit of its own; every server of ours can
	result, err := c.Probe(r.Context(), r.PathValue("name"))
	if err != nil {
		refuse(w, http.StatusConflict, err.Error())
		return
	}
	done(w, r, "probes/"+result.TraceID, result.Account())
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
