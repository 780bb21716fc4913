package observe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

// logResult writes an entry with the fields of a result: at warn if it failed, at info if the configuration wants an
// entry of it, else at debug. On a terminal it writes a short line at warn or info, and the fields at debug. No entry has
// the prompt or the answer. Version is that of the server, and notable is why the result is worth a look: see
// [status.Board.Record].
func (o *Observers) logResult(r *probe.Result, version string, notable []string) {
	failed := r.Outcome != probe.OK
	level := zapcore.DebugLevel
	switch {
	case failed:
		level = zapcore.WarnLevel
	case o.logProbes == "all", o.logProbes != "failed" && len(notable) > 0:
		level = zapcore.InfoLevel
	}
	if o.Live {
		o.log.Log(max(level, zapcore.InfoLevel), lineOf(r, notable))
		level = zapcore.DebugLevel
	}
	entry := o.log.Check(level, "probe")
	if entry != nil {
		entry.Write(fieldsOf(r, version, notable)...)
	}
}

// lineOf returns a result as a person watches it on a terminal, which shows it as it is.
func lineOf(r *probe.Result, notable []string) string {
	line := fmt.Sprintf("%s %s after %s", r.Target, r.Outcome, format.Duration(r.Elapsed))
	if ttft, ok := r.TTFT(); ok {
		line += ", TTFT " + format.Duration(ttft)
	}
	if tpot, ok := r.TPOT(); ok {
		line += ", TPOT " + format.Duration(tpot)
	}
	switch {
	case r.Outcome != probe.OK:
		line += fmt.Sprintf(": %v", r.Err)
	case len(notable) > 0:
		line += ": " + strings.ReplaceAll(strings.Join(notable, ", "), "_", " ")
	}
	return format.Clean(line)
}

// fieldsOf returns a result as fields of the log, without those that it does not have.
func fieldsOf(r *probe.Result, version string, notable []string) []zap.Field {
	fields := []zap.Field{
		zap.String("target", r.Target),
		zap.String("outcome", string(r.Outcome)),
		zap.Uint64("round", r.Round),
		zap.Duration("elapsed", r.Elapsed),
		zap.Int("token_frames", len(r.Timeline.Frames)),
		zap.String("trace_id", r.TraceID),
	}
	addTexts := func(name string, texts ...string) {
		if len(texts) > 0 {
			fields = append(fields, zap.Strings(name, texts))
		}
	}
	addText := func(name, text string) {
		if text != "" {
			fields = append(fields, zap.String(name, text))
		}
	}
	addNumber := func(name string, n *int) {
		if n != nil {
			fields = append(fields, zap.Int(name, *n))
		}
	}
	addDuration := func(name string, d time.Duration, ok bool) {
		if ok {
			fields = append(fields, zap.Duration(name, d))
		}
	}
	facts := report.JSONOf(r, nil).ResultFacts
	addTexts("notable", notable...)
	addText("reason", string(r.Reason))
	addNumber("http_status", facts.HTTPStatus)
	if r.Err != nil {
		fields = append(fields, zap.Error(r.Err))
	}

	ttft, ok := r.TTFT()
	addDuration("ttft", ttft, ok)
	serverTTFT, ok := r.ServerTTFT()
	addDuration("server_ttft", serverTTFT, ok)
	tpot, ok := r.TPOT()
	addDuration("tpot", tpot, ok)
	itl := slices.Sorted(r.ITL())
	if len(itl) > 0 {
		addDuration("itl_p50", stats.QuantileOf(itl, stats.P50), true)
		addDuration("itl_max", itl[len(itl)-1], true)
	}
	maxGap, ok := r.MaxGap()
	addDuration("max_gap", maxGap, ok)
	e2el, ok := r.E2EL()
	addDuration("e2el", e2el, ok)
	addNumber("prompt_tokens", facts.Usage.Prompt)
	addNumber("cached_tokens", facts.Usage.Cached)
	addNumber("output_tokens", facts.Usage.Output)

	addText("cache", string(r.Cache))
	addText("finish_reason", r.Finish)
	addText("prompt", r.Prompt) // the name of the workload
	addText("model", r.Model)
	addText("server", r.Server)
	addText("server_version", version)
	addText("request_id", r.RequestID)
	addText("response_id", r.ResponseID)
	addTexts("warnings", facts.Warnings...)
	return fields
}
