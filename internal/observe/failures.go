package observe

import (
	"runtime/debug"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/telemetry"
)

// Failures take the panics of the prober itself: they are logged and counted, and everything else goes on.
type Failures struct {
	Log     *zap.Logger
	Metrics *telemetry.Recorder // nil: they are not counted
}

// Survive recovers from a panic. It is deferred.
func (f Failures) Survive(doing string) {
	p := recover()
	if p != nil {
		f.Note("panic while "+doing+"; please report it", p, debug.Stack())
	}
}

// NoteResult notes the panic of a probe; there is none in most results, nor in nil.
func (f Failures) NoteResult(r *probe.Result) {
	if r != nil && r.Stack != nil {
		f.Note("panic while probing; please report it", r.Err.Error(), r.Stack, zap.String("target", r.Target))
	}
}

// Note logs and counts a panic.
func (f Failures) Note(message string, problem any, stack []byte, fields ...zap.Field) {
	fields = append(fields, zap.Any("panic", problem), zap.String("stack", string(stack)))
	f.Log.Error(message, fields...)
	if f.Metrics != nil {
		f.Metrics.Add(telemetry.InternalErrors, 1)
	}
}
