package observe

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// logResult writes a line with the fields of a result: successes at debug, failures at warn. On a terminal it writes a
// short line at info or warn, and the fields at debug. No line has the prompt or the answer.
func (o *Observers) logResult(r *probe.Result) {
	failed := r.Outcome != probe.OK
	switch {
	case o.Live && failed:
		o.log.Warn(lineOf(r))
	case o.Live:
		o.log.Info(lineOf(r))
	case failed:
		o.log.Warn("probe", fieldsOf(r)...)
		return
	}
	o.log.Debug("probe", fieldsOf(r)...)
}

// lineOf returns a result as a person watches it on a terminal, which shows it as it is.
func lineOf(r *probe.Result) string {
	line := fmt.Sprintf("%s %s after %s", r.Target, r.Outcome, format.Duration(r.Elapsed))
	if ttft, ok := r.TTFT(); ok {
		line += ", TTFT " + format.Duration(ttft)
	}
	if tpot, ok := r.TPOT(); ok {
		line += ", TPOT " + format.Duration(tpot)
	}
	if r.Outcome != probe.OK {
		line += fmt.Sprintf(": %v", r.Err)
	}
	return format.Clean(line)
}

// fieldsOf returns a result as fields of the log.
func fieldsOf(r *probe.Result) []zap.Field {
	fields := []zap.Field{
		zap.String("target", r.Target),
		zap.String("outcome", string(r.Outcome)),
		zap.Uint64("round", r.Round),
		zap.Duration("elapsed", r.Elapsed),
		zap.Int("token_frames", len(r.Timeline.Frames)),
		zap.String("trace_id", r.TraceID),
	}
	if ttft, ok := r.TTFT(); ok {
		fields = append(fields, zap.Duration("ttft", ttft))
	}
	if tpot, ok := r.TPOT(); ok {
		fields = append(fields, zap.Duration("tpot", tpot))
	}
	if r.Outcome != probe.OK {
		fields = append(fields, zap.Error(r.Err), zap.Int("http_status", r.Status))
	}
	for _, w := range r.Warnings {
		fields = append(fields, zap.String("warning", report.Warning(w)))
	}
	return fields
}
