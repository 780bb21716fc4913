package status

import (
	"encoding/json"
	"io"
	"net/http"
)

// Register makes mux serve the pages, the JSON below /api/v1/ and the health of the prober. Nothing can be changed by
// them.
func (b *Board) Register(mux *http.ServeMux) {
	mux.Handle("GET /{$}", withHeaders(b.servePage))
	mux.Handle("GET /probes/{trace_id}", withHeaders(b.serveProbe))
	mux.Handle("GET /api/v1/results", withHeaders(b.serveResults))
	mux.Handle("GET /api/v1/results/{trace_id}", withHeaders(b.serveResult))
	mux.Handle("GET /api/v1/targets", withHeaders(b.serveTargets))
	mux.Handle("GET /-/healthy", withHeaders(serveHealthy))
	mux.Handle("GET /-/ready", withHeaders(b.serveReady))
}

// serveTargets serves all targets as JSON, and where the prober stands: null if nobody said.
func (b *Board) serveTargets(w http.ResponseWriter, _ *http.Request) {
	data := map[string]any{"vantage": orNull(b.vantage), "targets": b.views()}
	answer(w, http.StatusOK, map[string]any{"status": "success", "data": data})
}

// serveHealthy answers 200: that it answers at all shows that the process serves HTTP.
func serveHealthy(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "Prober is Healthy.\n")
}

// withHeaders adds headers to every answer that forbid a browser to do anything but show it. A handler may replace the
// policy.
func withHeaders(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // without a referrer a browser sends "Origin: null" with a form
		h.Set("Cache-Control", "no-store")
		next(w, r)
	})
}

// serveReady answers 200 if the prober is ready, else 503.
func (b *Board) serveReady(w http.ResponseWriter, _ *http.Request) {
	if !b.ready.Load() {
		http.Error(w, "Prober is not Ready.", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "Prober is Ready.\n")
}

// refuse answers with an error in the form of Prometheus' API.
func refuse(w http.ResponseWriter, status int, text string) {
	kind := "bad_data"
	if status == http.StatusNotFound {
		kind = "not_found"
	}
	answer(w, status, map[string]string{"status": "error", "errorType": kind, "error": text})
}

// answer writes v as JSON. An error means that the client is gone, and is ignored.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
