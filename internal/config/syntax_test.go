package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestSyntaxErrors holds that a mistake in the syntax of the targets file is reported with its line, whatever ends the
// lines of the file. Where the parser notices it only at the end of the file, the line is that where it begins.
func TestSyntaxErrors(t *testing.T) {
	const indentation = "; check the indentation and the quotes of this line and the one before"
	for _, test := range []struct {
		name, file string
		line       int
		want       string
	}{
		{
			name: "a tab in the first line", file: "\tqps: 1\ntargets: []", line: 1,
			want: "found character that cannot start any token",
		},
		{
			name: "a tab in the middle", file: "qps: 1\ntargets:\n\t- url: http://a\n- url: http://b", line: 3,
			want: "found character that cannot start any token",
		},
		{
			name: "a tab in the last line", file: "qps: 1\ntargets:\n- url: http://a\n\tname: a", line: 4,
			want: "found a tab character that violates indentation; indent with spaces",
		},
		{
			name: "a quote that is open from the first line", file: "prompt: \"cold\nqps: 1\ntargets: []", line: 1,
			want: "found unexpected end of stream; close the quote",
		},
		{
			name: "a quote that is open from the middle", file: "qps: 1\nprompt: 'cold\ntargets:\n- url: http://a", line: 2,
			want: "found unexpected end of stream; close the quote",
		},
		{
			name: "a quote that is open in the last line", file: "targets:\n- url: http://a\n  name: \"b", line: 3,
			want: "found unexpected end of stream; close the quote",
		},
		{
			name: "a quote in a quoted text", file: "targets:\n- url: http://a\n  name: 'it's'\n  group: b", line: 3,
			want: "did not find expected key" + indentation,
		},
		{
			name: "an entry with less indentation", line: 4, want: "did not find expected key" + indentation,
			file: "qps: 1\ntargets:\n  - url: http://a\n - url: http://b\nmax_tokens: 5",
		},
		{
			name: "a key with less indentation", line: 3, want: "did not find expected '-' indicator" + indentation,
			file: "targets:\n  - url: http://a\n  name: b\n  - url: http://c",
		},
		{
			name: "a key with more indentation, in the last line", line: 3,
			file: "targets:\n- url: http://a\n   name: b",
			want: "mapping values are not allowed in this context; check the indentation, and put a text that has a colon " +
				"into quotes",
		},
		{
			name: "a colon in a text, in the first line", file: "vantage: eu: 1\ntargets: []", line: 1,
			want: "mapping values are not allowed in this context",
		},
		{
			name: "a key without colon", file: "qps: 1\ntargets\n- url: http://a", line: 2,
			want: "could not find expected ':'; want key: value",
		},
		{
			name: "a key without colon, in the last line", file: "targets:\n- url: http://a\n  name", line: 3,
			want: "could not find expected ':'; want key: value",
		},
		{
			name: "the end of a text of several lines", file: "qps: 1\nvantage: |\n  eu\n one\ntargets: []", line: 4,
			want: "did not find expected key" + indentation,
		},
		{
			name: "a bracket that is not closed", file: "qps: 1\ntargets: [{url: http://a},", line: 2,
			want: "did not find expected node content",
		},
		{
			name: "a missing comma", file: "targets:\n- {url: http://a,\n   name: b\n   group: c}\n- url: http://b", line: 4,
			want: "did not find expected ',' or '}' of what begins on line 2; want a comma, or the end of the list or mapping",
		},
		{
			name: "an alias without anchor", file: "targets:\n- url: http://a\n  model: *sk-123\n  name: b", line: 3,
			want: "unknown anchor; put a text that begins with * into quotes",
		},
		{name: "a control character", file: "qps: 1\nvantage: a\x01", line: 2, want: "control characters are not allowed"},
		{name: "bytes that are no text", file: "qps: 1\nvantage: a\xff\n", line: 2, want: "invalid leading UTF-8 octet"},
		{
			name: "after long texts", file: strings.Repeat("# éééééééééééééééééééé\n", 30) + "vantage: a\x01", line: 31,
			want: "control characters are not allowed",
		},
		{
			name: "after and before empty lines", file: "\n\n\nqps: 1\ntargets: [\n\n", line: 5,
			want: "did not find expected node content",
		},
		{name: "a mark at the start of a text", file: "qps: 1\nvantage: @eu", line: 2, want: "found character that cannot"},
	} {
		for _, ending := range []string{"\n", "\r\n"} {
			_, err := Load(withFile(strings.ReplaceAll(test.file, "\n", ending) + ending))
			want := fmt.Sprintf("1 problem:\n  f.yaml:%d: not YAML: %s", test.line, test.want)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s, lines that end with %q: got %v, want %s", test.name, ending, err, want)
			}
		}
	}
}
