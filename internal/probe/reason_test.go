package probe

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
)

// TestAModelThatIsGone holds what is said of a server that has lost its model, and that it is found again when it comes
// back.
func TestAModelThatIsGone(t *testing.T) {
	const (
		listed = `{"object":"list","data":[{"id":"tiny","object":"model","created":1,"owned_by":"nvidia"}]}`
		empty  = `{"object":"list","data":[]}`
		path   = "(POST /v1/chat/completions)"
	)
	for name, test := range map[string]struct {
		model     string // configured; empty: the server's first
		worked    bool   // before it was lost
		page      string // body of the 404
		says      []string
		reason    error
		withProbe bool // one was sent although the model is lost
	}{
		"named, after success": {"tiny", true, "",
			[]string{"the server no longer serves model tiny: HTTP 404 " + path}, ErrModelGone, true},
		"named, with a text": {"tiny", true, "gone",
			[]string{"the server no longer serves model tiny: HTTP 404: gone " + path}, ErrModelGone, true},
		"named, from the start": {"tiny", false, "",
			[]string{"the server serves no model: HTTP 404 " + path}, ErrNoModel, true},
		"the first one, after": {"", true, "",
			[]string{"the server no longer serves model tiny: HTTP 404",
				"the server serves no model: its list of models is empty"}, ErrNoModel, false},
		"the first one, at the start": {"", false, "",
			[]string{"the server serves no model: its list of models is empty"}, ErrNoModel, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			lost, probes := false, 0
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/v1/models" && lost:
					reply(200, empty)(w, r)
				case r.URL.Path == "/v1/models":
					reply(200, listed)(w, r)
				case r.URL.Path != "/v1/chat/completions":
					http.NotFound(w, r)
				case lost:
					probes++
					answers(404, "", test.page)(w, r)
				default:
					twoIn(ms).stream(w, r)
				}
			})
			target.Dialect = nil
			m := NewMember(target, test.model, 1)
			if test.worked {
				endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
			}
			lost = true
			var r *Result
			for _, says := range test.says {
				probes = 0
				r = m.Probe(t.Context(), question(2))
				endsAs(t, r, Rejected, says)
			}
			if !errors.Is(r.Err, test.reason) || (probes > 0) != test.withProbe {
				t.Errorf("%d probes sent; %v, want the reason %v", probes, r.Err, test.reason)
			}
			lost = false
			endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
			if server := m.Capabilities().Server.Name; server != "dynamo" {
				t.Errorf("it is known as %q afterwards", server)
			}
		})
	}
}

// TestReasonsAreLabelValues holds that each reason has a name of its own, which a failure keeps whatever else its error
// says.
func TestReasonsAreLabelValues(t *testing.T) {
	names := map[string]bool{"": true}
	for i, name := range Reasons() {
		r := &Result{Err: withText(fmt.Errorf("HTTP 500: %w", reasons[i].reason), "in other words")}
		if names[name] || r.Reason() != name || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
			t.Errorf("reason %q of %v is called %q", name, reasons[i].reason, r.Reason())
		}
		names[name] = true
	}
	source := must(os.ReadFile("reason.go"))
	declared := regexp.MustCompile(`(?m)^\tErr\w+ += errors\.New`).FindAll(source, -1)
	equal(t, "reasons with a name", len(declared), len(reasons))
	for _, err := range []error{nil, errors.New("HTTP 500")} {
		if got := (&Result{Err: err}).Reason(); got != "" {
			t.Errorf("%v has the reason %q", err, got)
		}
	}
}

// TestAPathThatIsNotThere holds that a 404 of a server of which nothing else is known says no more than that.
func TestAPathThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewMember(serve(t, http.NotFound), "m", 1).Probe(t.Context(), question(2))
		endsAs(t, r, Rejected, "HTTP 404: 404 page not found (POST /v1/chat/completions)")
		if errors.Is(r.Err, ErrModelGone) || errors.Is(r.Err, ErrNoModel) {
			t.Errorf("%v is more than was shown", r.Err)
		}
	})
}
