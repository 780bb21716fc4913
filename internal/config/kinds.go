package config

import (
	"cmp"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// A kind is what values of a setting look like.
type kind struct {
	name     string // in help: duration, number, file
	want     string // what a right value is, for hints; %s stands for the default; "" if any text is right
	example  string // in place of a default
	schema   node   // in the JSON Schema; nil for text
	optional bool   // the word none is a value, too

	pattern *regexp.Regexp // of texts; nil where an expression cannot judge them
	wrong   string         // what is wrong with a text that does not match
}

// formats are the kinds that the tag format names.
var formats = map[string]kind{
	"address": {name: "host:port", want: "host:port, for example %s"},
	"file":    {name: "file"},
	"header": {
		name: "header", want: "the name of a header, for example x-user-id",
		pattern: regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9a-zA-Z]+$"), // token of RFC 9110, section 5.6.2
		wrong:   "not a valid name of an HTTP header",
	},
	"identifier": {
		name: "text", want: "a-z, 0-9 and _ only",
		pattern: regexp.MustCompile(`^[a-z0-9_]{1,100}$`), wrong: "not an identifier",
	},
	"name": {
		name: "name", want: "1 to 100 printable characters",
		pattern: regexp.MustCompile(`^.{1,100}$`), wrong: "has more than 100 characters",
	},
	"path": {
		name: "path", want: "a path from the host's root on, without query, for example /v1/chat/completions",
		pattern: regexp.MustCompile(`^/[^?# ]*$`), wrong: "not the path of a URL",
	},
	"ratio": {
		name: "number", want: "a ratio between 0 and 1, for example %s",
		schema: node{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
	},
	"url": {
		name: "text", want: "http:// or https://, a host and perhaps a port and path, for example http://localhost:8000",
	},
}

const (
	wantDuration    = "a duration with its unit, for example %s"
	wantNumber      = "a number, for example %s"
	durationPattern = "^([0-9.]+(ns|us|µs|ms|s|m|h))+$"
)

// types are the kinds of settings without a format, by the type of their field.
var types = map[reflect.Type]kind{
	reflect.TypeFor[bool](): {
		name: "on|off", want: "on or off", schema: node{"enum": []any{true, false, "on", "off"}},
	},
	reflect.TypeFor[int]():     {name: "number", want: wantNumber, schema: node{"type": "integer"}},
	reflect.TypeFor[float64](): {name: "number", want: wantNumber, schema: node{"type": "number"}},
	reflect.TypeFor[Rate](): {
		name: "number", want: "probes per second, for example %s", schema: node{"type": "number"},
	},
	reflect.TypeFor[Tokens](): {
		name: "number", want: "tokens a day, for example %s", example: "50000000",
		schema: node{"type": "integer"}, optional: true,
	},
	reflect.TypeFor[OptionalInt](): {
		name: "number", want: wantNumber, example: "-10", schema: node{"type": "integer"}, optional: true,
	},
	reflect.TypeFor[Duration]():      {name: "duration", want: wantDuration, schema: text(durationPattern)},
	reflect.TypeFor[time.Duration](): {name: "duration", want: wantDuration, example: "2s", schema: text(durationPattern)},
	reflect.TypeFor[OptionalDuration](): {
		name: "duration", want: wantDuration, example: "30m", schema: text(durationPattern), optional: true,
	},
	reflect.TypeFor[Headers](): {
		name: "text", want: "NAME=value,NAME=value (a value with a comma in it goes into the targets file)",
		schema: node{"type": "object", "additionalProperties": node{"type": "string"}},
	},
	reflect.TypeFor[Shard](): {
		name: "text",
		want: "number/shards, numbered from 0, for example 0/3, or with the name of a StatefulSet's pod prober-0/3",
	},
	reflect.TypeFor[Secret](): {name: "text"},
	reflect.TypeFor[string](): {name: "text"},
}

// text returns the schema of a text.
func text(pattern string) node { return node{"type": "string", "pattern": pattern} }

// kindOf returns the kind of a field, without its words.
func kindOf(f reflect.StructField) kind {
	if format, ok := formats[f.Tag.Get("format")]; ok {
		return format
	}
	if f.Type.Kind() == reflect.String {
		return types[reflect.TypeFor[string]()]
	}
	return types[f.Type]
}

// hint returns what a right value looks like; nothing if any text is right.
func (k Key) hint() string {
	want := k.kind.want
	switch last := len(k.words) - 1; {
	case last > 0:
		want = strings.Join(k.words[:last], ", ") + " or " + k.words[last]
	case strings.HasSuffix(k.name, "_TOKENS"):
		want = "a number of tokens, for example %s"
	}
	if want == "" {
		return ""
	}
	if k.kind.optional {
		want += ", or " + none
	}
	return "want " + strings.ReplaceAll(want, "%s", cmp.Or(k.Default, k.kind.example))
}
