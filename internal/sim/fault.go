package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is what goes wrong, and also what is merely odd. All fields combine; the zero value of a field is off, the zero
// Fault is none. Of those that answer in place of the stream the first of hang, status, html, json is taken. The json
// tags are the keys of the control API and of ParseFault; durations are strings such as "350ms" there.
type Fault struct {
	// Status answers this HTTP status, 400 to 599, with a fitting JSON body; 429, 503 and 529 with a Retry-After header.
	Status int `json:"status"`
	// StallAfter is the number of tokens after which the stream falls silent, the connection open, until the client
	// leaves. An answer with no more tokens than that is not harmed; the same holds for CutAfter and ErrorAfter.
	StallAfter int `json:"stall_after"`
	// Comments sends an SSE comment every second of a stall, or what the API sends in its place (Anthropic: a ping). NDJSON
	// has none.
	Comments bool `json:"comments"`
	// CutAfter is the number of tokens after which the connection is cut, without the end of the body.
	CutAfter int `json:"cut_after"`
	// ErrorAfter is the number of tokens after which an error frame ends the stream.
	ErrorAfter int `json:"error_after"`
	// SlowHeaders is how long the response headers wait, at most an hour; the whole answer moves back by as much.
	SlowHeaders time.Duration `json:"slow_headers"`
	// RoleEarly is how long before the first token the role frame is sent, at most an hour. A queueing profile does
	// not know its first token ahead and sends it at acceptance. Only chat has a role frame.
	RoleEarly time.Duration `json:"role_early"`
	// TokensPerFrame puts so many tokens into a frame, sent when the last of them is due. TGI's own API and
	// llama-server's have one token a frame and send so many frames in one write.
	TokensPerFrame int `json:"tokens_per_frame"`
	// ITL is a factor, 0.001 to 1000, on every gap between tokens: 1.15 is 15% slower. The queueing profile cannot be
	// made faster than its engine.
	ITL float64 `json:"itl"`
	// TTFT is the same for the time to first token.
	TTFT float64 `json:"ttft"`
	// BatchMS releases all waiting frames in one write every so many milliseconds, counted from the first frame, which
	// goes out at once, as does what is left at the end (ray-project/ray#59681).
	BatchMS int `json:"batch_ms"`
	// Probability is the share of requests that the fault hits; 0 means all of them.
	Probability float64 `json:"probability"`
	// DoubleUsage sends a second usage frame that lacks cached_tokens. Only the OpenAI APIs, Azure's among them, have one.
	DoubleUsage bool `json:"double_usage"`
	// HTML answers 200 with a proxy's page.
	HTML bool `json:"html"`
	// JSON answers 200 with the whole answer in one JSON document, as if stream had not been asked for.
	JSON bool `json:"json"`
	// Hang never answers.
	Hang bool `json:"hang"`
	// RetryAfter is what the Retry-After header of a status of 429, 503 or 529 says, at most a day, rounded up to seconds;
	// 0 is a second.
	RetryAfter time.Duration `json:"retry_after"`
	// Garble says other words in place of the code words that a prompt asks for.
	Garble bool `json:"garble"`
}

// ParseFault reads the flag syntax "itl=1.15,stall_after=10": keys as in JSON, a boolean key may stand alone, an empty
// string is no fault. The error names all problems, each with a hint.
func ParseFault(s string) (Fault, error) {
	var f Fault
	var problems []error
	seen := map[string]bool{}
	for item := range strings.SplitSeq(s, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		key, value, given := strings.Cut(item, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if seen[key] {
			problems = append(problems, fmt.Errorf("%s: given twice", key))
			continue
		}
		seen[key] = true
		problems = append(problems, f.set(key, func(kind string) (string, error) {
			if !given && kind != "true or false" {
				return "", fmt.Errorf("no value, want %s=<%s>", key, kind)
			}
			if !given {
				return "true", nil
			}
			return value, nil
		}))
	}
	if err := f.judge(problems); err != nil {
		return Fault{}, err
	}
	return f, nil
}

// UnmarshalJSON reads an object strictly: unknown keys, wrong types and values out of bounds are errors, all of them at
// once. It replaces all of f, and nothing of it on error.
func (f *Fault) UnmarshalJSON(data []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return errors.New(`fault: want a JSON object such as {"itl": 1.15}`)
	}
	var read Fault
	var problems []error
	for _, key := range sortedKeys(object) {
		problems = append(problems, read.set(key, func(kind string) (string, error) { return plainText(object[key], kind) }))
	}
	if err := read.judge(problems); err != nil {
		return err
	}
	*f = read
	return nil
}

// MarshalJSON writes the fields that are on.
func (f Fault) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for key, value := range f.on() {
		text := fmt.Sprint(value)
		if _, ok := value.(time.Duration); ok {
			text = strconv.Quote(text)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%q:%s", key, text)
	}
	return append(out, '}'), nil
}

// String is the fault in ParseFault's syntax; empty for none.
func (f Fault) String() string {
	var items []string
	for key, value := range f.on() {
		items = append(items, fmt.Sprintf("%s=%v", key, value))
	}
	return strings.Join(items, ",")
}

// on yields key and value of each field that is on.
func (f Fault) on() func(yield func(string, any) bool) {
	return func(yield func(string, any) bool) {
		v := reflect.ValueOf(f)
		for i, key := range faultKeys() {
			if !v.Field(i).IsZero() && !yield(key, v.Field(i).Interface()) {
				return
			}
		}
	}
}

// faultKeys are the keys of Fault's fields, in their order.
func faultKeys() []string {
	var keys []string
	for field := range reflect.TypeFor[Fault]().Fields() {
		keys = append(keys, field.Tag.Get("json"))
	}
	return keys
}

// set gives the field with this key a value. text is asked with the words for the kind of value that is wanted.
func (f *Fault) set(key string, text func(kind string) (string, error)) error {
	keys := faultKeys()
	i := slices.Index(keys, key)
	if i < 0 {
		return fmt.Errorf("%s: unknown; known: %s", key, strings.Join(keys, ", "))
	}
	if err := setValue(reflect.ValueOf(f).Elem().Field(i).Addr().Interface(), text); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if key == "probability" && f.Probability == 0 {
		return errors.New("probability: 0 would never hit; take the fault away instead")
	}
	return nil
}

// setValue parses a text into a field of Fault, given as a pointer.
func setValue(field any, text func(kind string) (string, error)) error {
	kind, parse := "", func(string) (err error) { return nil }
	switch p := field.(type) {
	case *int:
		kind, parse = "whole number", func(s string) (err error) { *p, err = strconv.Atoi(s); return err }
	case *float64:
		kind, parse = "number", func(s string) (err error) { *p, err = strconv.ParseFloat(s, 64); return err }
	case *bool:
		kind, parse = "true or false", func(s string) (err error) { *p, err = strconv.ParseBool(s); return err }
	case *time.Duration:
		kind, parse = `duration such as "350ms"`, func(s string) (err error) { *p, err = time.ParseDuration(s); return err }
	}
	value, err := text(kind)
	if err != nil {
		return err
	}
	if parse(value) != nil {
		return fmt.Errorf("%q is no %s", value, kind)
	}
	return nil
}

// plainText is the text of a JSON scalar whose type fits the kind of value that is wanted.
func plainText(raw json.RawMessage, kind string) (string, error) {
	raw = bytes.TrimSpace(raw)
	isString := raw[0] == '"'
	isNumber := raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	isBool := raw[0] == 't' || raw[0] == 'f'
	switch {
	case isString && strings.HasPrefix(kind, "duration"):
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case isNumber && strings.HasSuffix(kind, "number"), isBool && kind == "true or false":
		return string(raw), nil
	}
	return "", fmt.Errorf("%s is no %s", raw, kind)
}

// validate reports every value that is out of bounds.
func (f Fault) validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(f.Status == 0 || f.Status >= 400 && f.Status <= 599, "status: %d is no error, want 400 to 599", f.Status)
	check(f.StallAfter >= 0, "stall_after: %d is negative, want tokens", f.StallAfter)
	check(!f.Comments || f.StallAfter > 0, "comments: needs stall_after, comments fill a stall")
	check(f.CutAfter >= 0, "cut_after: %d is negative, want tokens", f.CutAfter)
	check(f.ErrorAfter >= 0, "error_after: %d is negative, want tokens", f.ErrorAfter)
	check(f.SlowHeaders >= 0 && f.SlowHeaders <= time.Hour, "slow_headers: %v, want 0 to 1h", f.SlowHeaders)
	check(f.RoleEarly >= 0 && f.RoleEarly <= time.Hour, "role_early: %v, want 0 to 1h", f.RoleEarly)
	check(f.TokensPerFrame >= 0, "tokens_per_frame: %d is negative, want at least 1", f.TokensPerFrame)
	check(factor(f.ITL), "itl: %v, want a factor of 0.001 to 1000 (1.15 is 15%% slower)", f.ITL)
	check(factor(f.TTFT), "ttft: %v, want a factor of 0.001 to 1000 (1.15 is 15%% slower)", f.TTFT)
	check(f.BatchMS >= 0 && f.BatchMS <= 60_000, "batch_ms: %d, want 0 to 60000 milliseconds", f.BatchMS)
	check(f.Probability >= 0 && f.Probability <= 1, "probability: %v, want a share above 0 and at most 1", f.Probability)
	check(f.RetryAfter >= 0 && f.RetryAfter <= 24*time.Hour, "retry_after: %v, want 0 to 24h", f.RetryAfter)
	check(f.RetryAfter == 0 || retries(f.Status), "retry_after: needs status 429, 503 or 529, which carry it")
	return errors.Join(problems...)
}

// factor reports whether v is off or a factor within bounds; NaN is not.
func factor(v float64) bool { return v == 0 || v >= 0.001 && v <= 1000 }

// judge joins the problems of reading a fault with those of its values into an error of one line, nil if there are none.
func (f Fault) judge(problems []error) error {
	err := errors.Join(append(problems, f.validate())...)
	if err == nil {
		return nil
	}
	return errors.New("fault: " + strings.ReplaceAll(err.Error(), "\n", "; "))
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

// ending is how an answer breaks off.
type ending string

const (
	endStall ending = "stall"
	endCut   ending = "cut"
	endError ending = "error"
)

// breaks reports whether an answer breaks off once sent tokens are out, and how.
func (f Fault) breaks(sent int) (ending, bool) {
	switch sent {
	case 0:
		return "", false
	case f.StallAfter:
		return endStall, true
	case f.CutAfter:
		return endCut, true
	case f.ErrorAfter:
		return endError, true
	}
	return "", false
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
