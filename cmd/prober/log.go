package main

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/llm-prober/prober/internal/format"
)

// newLog returns a log that writes to w. Without a layout it writes for people on a terminal, and JSON elsewhere.
func newLog(w io.Writer, level, layout string) *zap.Logger {
	least, _ := zapcore.ParseLevel(level) // the configuration is validated
	if layout == "" && format.IsTerminal(w) {
		layout = "console"
	}
	encoding := zap.NewProductionEncoderConfig()
	encoding.EncodeTime = zapcore.ISO8601TimeEncoder
	encoding.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(encoding)
	if layout == "console" {
		encoding.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		encoder = zapcore.NewConsoleEncoder(encoding)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), least))
}
