package observe

import (
	"runtime/debug"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/telemetry"
)

// A PanicLog takes the panics of the prober itself: they are logged and counted, and everything else goes on.
type PanicLog struct {
	Log     *zap.Logger
	Metrics *telemetry.Recorder // nil: they are not counted
}

// Recover recovers from a panic. It is deferred.
func (l PanicLog) Recover(doing string) {
	p := recover()
	if p != nil {
		l.Note("panic while "+doing+"; please report it", p, debug.Stack())
	}
}

// Note logs and counts a panic.
func (l PanicLog) Note(message string, problem any, stack []byte, fields ...zap.Field) {
	fields = append(fields, zap.Any("panic", problem), zap.String("stack", string(stack)))
	l.Log.Error(message, fields...)
	if l.Metrics != nil {
		l.Metrics.Add(telemetry.InternalErrors, 1)
	}
}
