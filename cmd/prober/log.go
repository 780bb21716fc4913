package main

import (
	"io"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"github.com/llm-prober/prober/internal/probe"
)

// newLog returns a log of the given level and format to w. Without a format it
// is for eyes on a terminal, and JSON elsewhere.
func newLog(w io.Writer, level, format string) *zap.Logger {
	least, err := zapcore.ParseLevel(level)
	if err != nil {
		least = zapcore.InfoLevel // the configuration is validated: this is the default
	}
	if format == "" && isTerminal(w) {
		format = "console"
	}
	encoding := zap.NewProductionEncoderConfig()
	encoding.EncodeTime = zapcore.ISO8601TimeEncoder
	encoding.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(encoding)
	if format == "console" {
		encoding.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		encoder = zapcore.NewConsoleEncoder(encoding)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), least))
}

// isTerminal reports whether w is one.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A probeLog writes a line a result: summaries at debug, failures at warn.
// Neither prompt nor answer is in them.
type probeLog struct{ log *zap.Logger }

func (l probeLog) Record(r *probe.Result) {
	level, fields := zapcore.DebugLevel, []zap.Field{
		zap.String("target", r.Target), zap.String("outcome", string(r.Outcome)),
		zap.Uint64("round", r.Round), zap.Duration("elapsed", r.Elapsed),
		zap.Int("token_frames", len(r.Timeline.Tokens)), zap.String("trace_id", r.TraceID),
	}
	if r.Outcome != probe.OK {
		level = zapcore.WarnLevel
		fields = append(fields, zap.Error(r.Err), zap.Int("http_status", r.Status))
	}
	entry := l.log.Check(level, "probe")
	if entry == nil {
		return
	}
	if ttft, ok := r.TTFT(); ok {
		fields = append(fields, zap.Duration("ttft", ttft))
	}
	if tpot, ok := r.TPOT(); ok {
		fields = append(fields, zap.Duration("tpot", tpot))
	}
	for _, w := range r.Warnings {
		fields = append(fields, zap.String("warning", w.Error()))
	}
	entry.Write(fields...)
}
