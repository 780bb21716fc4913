package daemon

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newServerLog returns the log of the HTTP server: what net/http says of connections and handlers. For each panic of a
// handler it calls onPanic.
func newServerLog(to *zap.Logger, onPanic func()) *log.Logger {
	return log.New(serverLog{log: to, seldom: oncePerMinute(to), onPanic: onPanic}, "", 0)
}

// oncePerMinute returns a logger that writes each message once a minute, whatever its fields.
func oncePerMinute(to *zap.Logger) *zap.Logger {
	return to.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Minute, 1, 0)
	}))
}

// A serverLog sorts the lines of net/http by what they are about: they carry no level.
type serverLog struct {
	log     *zap.Logger
	seldom  *zap.Logger // for what every client may cause, see oncePerMinute
	onPanic func()
}

// Write takes one entry of the log, which has several lines if it is a panic.
func (l serverLog) Write(entry []byte) (int, error) {
	text := strings.TrimSpace(string(entry))
	first, rest, _ := strings.Cut(text, "\n")
	switch {
	case strings.HasPrefix(first, "http: panic serving"):
		l.log.Error("panic while an HTTP request was served; please report it", zap.String("panic", first),
			zap.String("stack", rest))
		l.onPanic()
	case strings.HasPrefix(first, "http: TLS handshake error") && !isClientGone(first):
		l.seldom.Warn("TLS handshake failed; other failures are not logged for a minute", zap.String("error", first))
	default:
		l.log.Debug("HTTP server", zap.String("message", text))
	}
	return len(entry), nil
}

// isClientGone reports whether a TLS handshake failed because the client went away, as a tcpSocket probe of the kubelet
// does.
func isClientGone(line string) bool {
	return strings.HasSuffix(line, ": EOF") || strings.HasSuffix(line, ": connection reset by peer")
}

// A toolkitLog is the log of the exporter-toolkit. Complaints are errors, once a minute: it may repeat them for each
// request. The rest is what address it serves on and whether with TLS, which the prober says itself.
type toolkitLog struct{ seldom *zap.Logger }

// Enabled implements [slog.Handler].
func (toolkitLog) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler]: it logs a record.
func (l toolkitLog) Handle(_ context.Context, r slog.Record) error {
	var fields []zap.Field
	r.Attrs(func(a slog.Attr) bool {
		fields = append(fields, zap.String(a.Key, a.Value.String()))
		return true
	})
	level := zap.DebugLevel
	if r.Level >= slog.LevelWarn {
		level = zap.ErrorLevel
	}
	l.seldom.Log(level, "HTTP server: "+r.Message, fields...)
	return nil
}

// WithAttrs implements [slog.Handler]; the toolkit does not use it.
func (l toolkitLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements [slog.Handler]; the toolkit does not use it.
func (l toolkitLog) WithGroup(string) slog.Handler { return l }
