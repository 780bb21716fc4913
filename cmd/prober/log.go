package main

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/llm-prober/prober/internal/report"
)

// newLog returns a log of the given level and format to w. Without a format it
// is for eyes on a terminal, and JSON elsewhere.
func newLog(w io.Writer, level, format string) *zap.Logger {
	least, _ := zapcore.ParseLevel(level) // the configuration is validated
	if format == "" && report.IsTerminal(w) {
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
