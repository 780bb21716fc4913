package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

// A Secret is a text that prints as ***. The zero value is the empty text, which prints as nothing.
type Secret struct {
	value *string // a pointer: in unexported fields, fmt does not call methods, and prints an address
}

// NewSecret returns text as a secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{value: &text}
}

// Reveal returns the hidden text. Nothing else does.
func (s Secret) Reveal() string {
	if s.value != nil {
		return *s.value
	}
	return ""
}

// String returns *** or, for the empty secret, nothing.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return "***"
}

// Format prints String for every verb; flags and widths are ignored.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns String, for JSON and YAML too. It never fails.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText hides a copy of text. It never fails.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}

// Headers are headers by their names as given, unique whatever their case.
type Headers map[string]Secret

// UnmarshalText reads NAME=value,NAME=value, or such pairs with line breaks between them.
func (h *Headers) UnmarshalText(text []byte) error {
	*h = Headers{}
	return eachPair(string(text), func(number int, name, value string) error {
		err := h.add(name, value)
		if err != nil {
			return usage.Problem{Text: fmt.Sprintf("entry %d %s", number, err)}
		}
		return nil
	})
}

// eachPair calls read for each pair of NAME=value,NAME=value, or of such pairs with line breaks between them, until one
// is an error. Pairs are numbered from 1, and without space around names and values.
func eachPair(text string, read func(number int, name, value string) error) error {
	pairs := strings.Split(text, "\n")
	if len(pairs) == 1 {
		pairs = strings.Split(text, ",")
	}
	for i, pair := range pairs {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return usage.Problem{Text: fmt.Sprintf("entry %d has no =", i+1)}
		}
		err := read(i+1, strings.TrimSpace(name), strings.TrimSpace(value))
		if err != nil {
			return err
		}
	}
	return nil
}

// ownHeaders are the headers that a probe always sets itself.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Baggage", "Content-Length", "Content-Type", "Traceparent", "Trailer",
	"Transfer-Encoding", "User-Agent",
}

// add adds a header, or says what is wrong with it. It never quotes the name, which is a secret if a user mixed up name
// and value.
func (h Headers) add(name, value string) error {
	isSame := func(other string) bool { return strings.EqualFold(other, name) }
	switch {
	case !headerName.MatchString(name):
		return usage.Problem{Text: "has a name that no HTTP header can have"}
	case slices.ContainsFunc(ownHeaders, isSame):
		return usage.Problem{Text: "names a header that the prober sets itself"}
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return usage.Problem{Text: "has a value with control characters"}
	case slices.ContainsFunc(slices.Collect(maps.Keys(h)), isSame):
		return usage.Problem{Text: "repeats a header"}
	}
	h[name] = NewSecret(value)
	return nil
}

// A Body is an object of JSON that is added to the requests for answers. Its values are those of encoding/json, with
// numbers as [json.Number].
type Body map[string]any

const (
	maxBody       = 64 << 10 // bytes of a [Body]
	wantSmallBody = "want at most 64 KiB: the prompt is not a part of it"
)

// UnmarshalText reads a JSON object.
func (b *Body) UnmarshalText(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	err := decoder.Decode(&object)
	_, errAfter := decoder.Token()
	switch {
	case err != nil || object == nil:
		return usage.Problem{Text: "not a JSON object"}
	case !errors.Is(errAfter, io.EOF):
		return usage.Problem{Text: "more than one JSON object"}
	case len(text) > maxBody:
		return usage.Problem{Text: "is too large", Hint: wantSmallBody}
	}
	twice := repeatedKey(json.NewDecoder(bytes.NewReader(text)))
	if twice != "" {
		return usage.Problem{Text: "the key " + quote(twice) + " is given twice", Hint: "keep one of them"}
	}
	*b = object
	return nil
}

// repeatedKey returns a key that an object in the next value of a decoder has twice, at any depth; empty if there is
// none. encoding/json takes the last one without a word.
func repeatedKey(d *json.Decoder) string {
	token, _ := d.Token()
	isObject := token == json.Delim('{')
	if !isObject && token != json.Delim('[') {
		return ""
	}
	seen := map[json.Token]bool{}
	for d.More() {
		if isObject {
			key, _ := d.Token()
			if seen[key] {
				return key.(string)
			}
			seen[key] = true
		}
		twice := repeatedKey(d)
		if twice != "" {
			return twice
		}
	}
	_, _ = d.Token() // its end
	return ""
}

// String returns the object as JSON, with its fields sorted.
func (b Body) String() string { return wire.Object(b).String() }

// Depths say where the words of a canary stand: how much of the prompt is before them, 0 to 1. They are different, and
// ascending however they were written.
type Depths []float64

const maxDepths = 10

// UnmarshalText reads one number, or several with commas between them.
func (d *Depths) UnmarshalText(text []byte) error {
	*d = nil
	for part := range strings.SplitSeq(string(text), ",") {
		depth, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		switch {
		case err != nil:
			return usage.Problem{Text: "not a number, or numbers with commas between them"}
		case !(depth >= 0 && depth <= 1): // NaN is neither
			return usage.Problem{Text: "must be 0 to 1"}
		case slices.Contains(*d, depth):
			return usage.Problem{Text: fmt.Sprintf("has the depth %v twice", depth)}
		}
		*d = append(*d, depth)
	}
	if len(*d) > maxDepths {
		return usage.Problem{Text: fmt.Sprintf("has %d depths", len(*d))}
	}
	slices.Sort(*d)
	return nil
}

// String returns the depths as a variable has them.
func (d Depths) String() string {
	var texts []string
	for _, depth := range d {
		texts = append(texts, strconv.FormatFloat(depth, 'f', -1, 64))
	}
	return strings.Join(texts, ",")
}

// yaml returns the depths as the targets file has them.
func (d Depths) yaml() string {
	if len(d) == 1 {
		return d.String()
	}
	return "[" + strings.ReplaceAll(d.String(), ",", ", ") + "]"
}

// A Shard says which of several probers that share the targets this one is. The zero value is a prober that has all.
type Shard struct {
	Index int // from 0, below Of
	Of    int // how many there are; 0 for one
}

// UnmarshalText reads 2/3 or, with the name of a pod, prober-2/3.
func (s *Shard) UnmarshalText(text []byte) error {
	number, shards, cut := strings.Cut(string(text), "/")
	hyphen := strings.LastIndex(number, "-")
	index, err := strconv.ParseUint(number[hyphen+1:], 10, 31)
	of, errOf := strconv.ParseUint(shards, 10, 31)
	switch {
	case !cut || hyphen == 0 || err != nil || errOf != nil:
		return usage.Problem{Text: "not a shard"}
	case of < 1 || of > 1000:
		return usage.Problem{Text: "must have 1 to 1000 shards"}
	case index >= of:
		return usage.Problem{Text: fmt.Sprintf("the last of %d shards is %d", of, of-1)}
	}
	*s = Shard{Index: int(index), Of: int(of)}
	return nil
}

// String returns the shard as it is configured; "" for the zero value.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// GenAI says which version of the OpenTelemetry GenAI conventions to follow on OTLP, beside the prober's own names. The
// conventions change without compatibility, so that only a version says which names come out.
type GenAI string

// The versions.
const (
	GenAIOff GenAI = "off"
	GenAI141 GenAI = "v1.41" // of semconv v1.41.0, the last release with these conventions
)

// UnmarshalText reads off or a version. The word on means the newest version. Upper and lower case are the same.
func (g *GenAI) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "off", "false":
		*g = GenAIOff
	case "v1.41", "on", "true":
		*g = GenAI141
	default:
		return usage.Problem{Text: "not a version that the prober knows"}
	}
	return nil
}
