package main

import (
	"fmt"
	"net/http"

	"go.uber.org/zap"
)

// drainHandler ends the starts of probes, because the servers that are probed are
// about to stop: a sidecar learns this by the preStop hook of its own container,
// which the kubelet runs when the end of the pod begins, before the containers
// beside it get their SIGTERM and long before the sidecar does
// (https://kep.k8s.io/753). Probes under way go on and count, as a user's request
// would, but for those that found the door closed. What would have been due is
// skipped and counted. GET counts as well, since
// that is what a hook can send, but not from a web page of another origin.
func (i *instance) drainHandler(o *observers, drain func()) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodPost && r.Method != http.MethodPut {
			w.Header().Set("Allow", "GET, POST, PUT")
			http.Error(w, "GET, POST or PUT", http.StatusMethodNotAllowed)
			return
		}
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
			http.Error(w, "not from a page of another origin", http.StatusForbidden)
			return
		}
		if !o.draining.Swap(true) {
			i.log.Info("draining: no more probes begin", zap.String("asked_by", r.RemoteAddr))
		}
		drain()
		o.board.SetReady(false)
		fmt.Fprintln(w, "draining")
	}
}
