package observe

import (
	"fmt"
	"math"
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
// entry of it, else at debug. On a terminal it writes a short line at warn or info, and the fields at debug. No entry
// has the prompt or the answer. Name is what people call its prompt, version is that of the server, and notable is why
// the result is worth a look: see [status.Board.Record].
func (o *Observers) logResult(r *probe.Result, name, version string, notable []string) {
	failed := r.Outcome != probe.OK
	level := zapcore.DebugLevel
	switch {
	case failed:
		level = zapcore.WarnLevel
	case o.logProbes == "all", o.logProbes != "failed" && len(notable) > 0:
		level = zapcore.InfoLevel
	}
	if o.Live {
		o.log.Log(max(level, zapcore.InfoLevel), lineOf(r, name, notable))
		level = zapcore.DebugLevel
	}
	entry := o.log.Check(level, "probe")
	if entry != nil {
		entry.Write(fieldsOf(r, version, notable)...)
	}
}

// lineOf returns a result as a person watches it on a terminal, which shows it as it is. The name is what people call
// its prompt.
func lineOf(r *probe.Result, name string, notable []string) string {
	line := fmt.Sprintf("%s %s after %s", name, r.Outcome, format.Duration(r.Elapsed))
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
	facts := report.FactsOf(r, nil)
	f := fields{
		zap.String("target", r.Target),
		zap.String("prompt", r.Prompt),
		zap.String("outcome", string(r.Outcome)),
		zap.Uint64("round", r.Round),
		zap.Duration("elapsed", r.Elapsed),
		zap.Int("token_frames", len(r.Timeline.Frames)),
		zap.String("trace_id", r.TraceID),
	}
	f.addTexts("notable", notable)
	f.addText("reason", string(r.Reason))
	f.addNumber("http_status", facts.HTTPStatus)
	if r.Err != nil {
		f = append(f, zap.Error(r.Err))
	}

	f.addSeconds("ttft", facts.TTFT)
	f.addSeconds("server_ttft", facts.ServerTTFT)
	f.addSeconds("tpot", facts.TPOT)
	itl := slices.Sorted(r.ITL())
	if len(itl) > 0 {
		f = append(f, zap.Duration("itl_p50", stats.QuantileOf(itl, stats.P50)), zap.Duration("itl_max", itl[len(itl)-1]))
	}
	f.addSeconds("max_gap", facts.MaxGap)
	f.addSeconds("e2el", facts.E2EL)
	f.addNumber("prompt_tokens", facts.Usage.Prompt)
	f.addNumber("cached_tokens", facts.Usage.Cached)
	f.addNumber("output_tokens", facts.Usage.Output)

	if facts.Wording != nil {
		f = append(f,
			zap.Float64("answer_repeated", facts.Wording.Repeated),
			zap.Float64("answer_distinct_words", facts.Wording.Distinct),
			zap.Float64("answer_replaced", facts.Wording.Replaced))
	}
	f.addText("cache", string(r.Cache))
	f.addText("finish_reason", r.Finish)
	f.addText("model", r.Model)
	f.addText("server", r.Server)
	f.addText("server_version", version)
	f.addText("request_id", r.RequestID)
	f.addText("response_id", r.ResponseID)
	f.addTexts("warnings", facts.Warnings)
	return f
}

// fields are those of an entry of the log. Its methods add one if there is a value.
type fields []zap.Field

func (f *fields) addText(name, text string) {
	if text != "" {
		*f = append(*f, zap.String(name, text))
	}
}

func (f *fields) addTexts(name string, texts []string) {
	if len(texts) > 0 {
		*f = append(*f, zap.Strings(name, texts))
	}
}

func (f *fields) addNumber(name string, n *int) {
	if n != nil {
		*f = append(*f, zap.Int(name, *n))
	}
}

func (f *fields) addSeconds(name string, seconds *float64) {
	if seconds != nil {
		*f = append(*f, zap.Duration(name, time.Duration(math.Round(*seconds*1e9))))
	}
}
