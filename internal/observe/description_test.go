package observe

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/testing/exposition"
	"github.com/llm-prober/prober/internal/wire"
)

// notesOnPage returns the notes on the status page, which has one target.
func notesOnPage(o *Observers) string {
	mux := http.NewServeMux()
	o.Board.Register(mux)
	page := exposition.Serve(mux, "/")
	var notes []string
	for _, match := range regexp.MustCompile(`<dt>note</dt><dd><bdi>([^<]*)`).FindAllStringSubmatch(page, -1) {
		notes = append(notes, match[1])
	}
	return strings.Join(notes, "; ")
}

// TestThePageShowsThatAServerHasChanged holds that the type, the version and the model that a server had before are
// notes on the page, until the next change. What was not known before, and what is not known now, is no change. Another
// URL is another server, about which there is no note, as is one that comes after the target was forgotten.
func TestThePageShowsThatAServerHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObservers(t)
		for _, step := range []struct {
			url, server, model, want string
			forgotten                bool // before
		}{
			{url: "http://a", server: "", model: "", want: ""},
			{url: "http://a", server: "vllm", model: "llama", want: ""},
			{url: "http://a", server: "vllm", model: "qwen", want: "qwen since 2000-01-01 00:02 UTC, before: llama"},
			{url: "http://a", server: "vllm", model: "qwen", want: "qwen since 2000-01-01 00:02 UTC, before: llama"},
			{url: "http://a", server: "sglang", model: "qwen", want: "sglang since 2000-01-01 00:04 UTC, before: vllm"},
			{url: "http://a", server: "", model: "qwen", want: "sglang since 2000-01-01 00:04 UTC, before: vllm"},
			{url: "http://a", server: "sglang", model: "qwen", want: "sglang since 2000-01-01 00:04 UTC, before: vllm"},
			{url: "http://a", server: "vllm", model: "gemma",
				want: "vllm since 2000-01-01 00:07 UTC, before: sglang; gemma since 2000-01-01 00:07 UTC, before: qwen"},
			{url: "http://b", server: "vllm", model: "llama", want: ""},
			{url: "http://b", server: "sglang", model: "llama", want: "", forgotten: true},
		} {
			target := newTarget(config.Target{Name: "a", Group: "a", URL: step.url},
				probe.Target{Server: wire.Server{Name: step.server}}, step.model)
			if step.forgotten {
				o.Forget("a")
			}
			o.NewRecorder([]Target{target}, PanicLog{Log: zap.NewNop()})
			if got := notesOnPage(o); got != step.want {
				t.Errorf("server %q with model %q: notes %q, want %q", step.server, step.model, got, step.want)
			}
			time.Sleep(time.Minute)
		}
	})
}
