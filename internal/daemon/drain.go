package daemon

import (
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"
)

// drainLimit is how long a drain lasts after the last request for it. Pods end sooner. A prober must not stay silent if
// it was drained by mistake, or if its pod goes on.
const drainLimit = 15 * time.Minute

// drainExpired is logged when a drain ends by itself.
const drainExpired = "the drain ended by itself: the prober still runs 15 minutes after it was last " +
	"drained; probes start again"

// beginDrain serves POST /-/drain: no more probes start, because the servers are about to stop. The kubelet runs a
// sidecar's preStop hook when the pod begins to end, before the containers beside it get their SIGTERM
// (https://kep.k8s.io/753). Probes under way go on and count, unless their connection was refused. Slots are skipped
// and counted. Asking again only makes the drain last longer.
func (d *Daemon) beginDrain(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	changed := d.runner.SetDraining(true)
	d.drainEnds = time.Now().Add(drainLimit)
	d.drainTimer.Reset(drainLimit)
	d.publishReadiness()
	d.mu.Unlock()
	if changed {
		d.Log.Info("draining: no more probes start", zap.String("asked_by", r.RemoteAddr),
			zap.Duration("at_most", drainLimit))
	}
	fmt.Fprintln(w, "draining")
}

// endDrain serves DELETE /-/drain: probes start again. The timer may go on: it then finds no drain to end.
func (d *Daemon) endDrain(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	changed := d.runner.SetDraining(false)
	d.publishReadiness()
	d.mu.Unlock()
	if changed {
		d.Log.Info("no longer draining: probes start again", zap.String("asked_by", r.RemoteAddr))
	}
	fmt.Fprintln(w, "not draining")
}

// expireDrain ends a drain that nobody has asked for within drainLimit.
func (d *Daemon) expireDrain() {
	d.mu.Lock()
	changed := false
	askedAgain := time.Now().Before(d.drainEnds) // as the timer fired
	if !askedAgain {
		changed = d.runner.SetDraining(false)
		d.publishReadiness()
	}
	d.mu.Unlock()
	if changed {
		d.Log.Warn(drainExpired, zap.Duration("limit", drainLimit))
	}
}
