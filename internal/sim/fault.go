package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"
)

// Fault is what goes wrong. All fields combine; the zero value of a field is off, the zero Fault is none. The json
// tags are the keys of the control API and of ParseFault; durations are strings such as "350ms" there.
type Fault struct {
	// Of those that answer in place of the stream the first of hang, status, html is taken.
	Hang        bool     `json:"hang,omitzero" help:"no answer at all"`
	Status      int      `json:"status,omitzero" help:"this HTTP status, 400 to 599"`
	HTML        bool     `json:"html,omitzero" help:"a page of HTML in place of the stream"`
	SlowHeaders Duration `json:"slow_headers,omitzero" help:"headers and answer come so much later, for example 350ms"`

	// An answer with no more tokens than stall, reset or error_frame is not harmed. In a stall the connection stays
	// open until the client leaves.
	Stall      int      `json:"stall,omitzero" help:"silence after so many tokens"`
	StallFor   Duration `json:"stall_for,omitzero" help:"how long it lasts, for example 400ms; endless if not given"`
	Reset      int      `json:"reset,omitzero" help:"the connection breaks after so many tokens"`
	ErrorFrame int      `json:"error_frame,omitzero" help:"an error inside the stream after so many tokens"`

	// The queueing profiles cannot be made faster than their engine.
	TTFT float64 `json:"ttft,omitzero" help:"time to the first token, multiplied: 1.15 is 15% slower"`
	ITL  float64 `json:"itl,omitzero" help:"times between tokens, multiplied"`
	// TGI has one token a frame and sends so many frames in one write, when the last is due.
	TokensPerFrame int  `json:"tokens_per_frame,omitzero" help:"so many tokens in one frame"`
	WrongAnswer    bool `json:"wrong_answer,omitzero" help:"other code words than a canary asks for"`

	Probability float64 `json:"probability,omitzero" help:"share of the requests that are hit; all if not given"`
}

// FaultsHelp is a line for each key of a fault, for users.
func FaultsHelp() string {
	var b strings.Builder
	for field := range reflect.TypeFor[Fault]().Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fmt.Fprintf(&b, "  %-18s%s\n", key, field.Tag.Get("help"))
	}
	return b.String()
}

// Duration is a duration that is a string such as "350ms" in JSON.
type Duration time.Duration

// UnmarshalText parses what time.ParseDuration takes.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// MarshalText is the reverse.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// ParseFault reads the flag syntax "itl=1.15,stall=10": keys as in JSON, a key alone is true, an empty string is no
// fault.
func ParseFault(text string) (Fault, error) {
	object := map[string]json.RawMessage{}
	for item := range strings.SplitSeq(text, ",") {
		key, value, given := strings.Cut(strings.TrimSpace(item), "=")
		switch {
		case item == "" || key == "":
			continue
		case !given:
			value = "true"
		case !json.Valid([]byte(value)): // a duration
			value = quoted(value)
		}
		object[key] = json.RawMessage(value)
	}
	return readFault(strings.NewReader(mustJSON(object)))
}

// readFault decodes one JSON object. Unknown keys, wrong types and values out of bounds are errors.
func readFault(r io.Reader) (f Fault, err error) {
	strict := json.NewDecoder(r)
	strict.DisallowUnknownFields()
	err = strict.Decode(&f)
	wrong := (*json.UnmarshalTypeError)(nil)
	switch {
	case err == nil:
		err = f.validate()
	case errors.As(err, &wrong) && wrong.Field != "":
		err = fmt.Errorf("%s: want a value of type %v, not a %s", wrong.Field, wrong.Type, wrong.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field"):
		err = fmt.Errorf("%s: prober simulate --help-all lists the known ones", strings.TrimPrefix(err.Error(), "json: "))
	}
	if err != nil {
		return Fault{}, fmt.Errorf("fault: %w", err)
	}
	return f, nil
}

// validate reports all values that are out of bounds.
func (f Fault) validate() error {
	var problems []string
	check := func(ok bool, problem string) {
		if !ok {
			problems = append(problems, problem)
		}
	}
	upToAnHour := func(d Duration) bool { return d >= 0 && time.Duration(d) <= time.Hour }
	factor := func(v float64) bool { return v == 0 || v >= 0.001 && v <= 1000 }
	check(f.Status == 0 || f.Status >= 400 && f.Status <= 599, "status: want an error, 400 to 599")
	check(min(f.Stall, f.Reset, f.ErrorFrame, f.TokensPerFrame) >= 0,
		"stall, reset, error_frame, tokens_per_frame: want numbers of tokens")
	check(f.StallFor == 0 || f.Stall > 0, "stall_for: needs stall")
	check(upToAnHour(f.StallFor) && upToAnHour(f.SlowHeaders), "stall_for, slow_headers: want 0 to 1h")
	check(factor(f.ITL) && factor(f.TTFT), "itl, ttft: want a factor of 0.001 to 1000 (1.15 is 15% slower)")
	check(f.Probability >= 0 && f.Probability <= 1, "probability: want a share above 0 and at most 1")
	if problems == nil {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

// stretch is when a token is due that would be due at the given moment in an answer without faults.
func (f Fault) stretch(origin, first, at time.Time) time.Time {
	return origin.Add(times(f.TTFT, first.Sub(origin)) + times(f.ITL, at.Sub(first)))
}

// times multiplies, where the factor 0 means 1.
func times(factor float64, d time.Duration) time.Duration {
	if factor == 0 {
		return d
	}
	return time.Duration(math.Round(factor * float64(d)))
}

// breaks is how an answer breaks off once sent tokens are out: the key of the fault that does it, empty if none does.
func (f Fault) breaks(sent int) string {
	switch {
	case sent == 0:
		return ""
	case sent == f.Stall && f.StallFor == 0:
		return "stall"
	case sent == f.Reset:
		return "reset"
	case sent == f.ErrorFrame:
		return "error_frame"
	}
	return ""
}
