package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/caarlos0/env/v11"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

// A kind describes what the values of a setting look like.
type kind struct {
	name   string                  // in help: duration, number, file
	want   string                  // a right value, for hints; %s is replaced by an example; "" if any text is right
	schema node                    // in the JSON Schema, without bounds
	check  func(text string) error // finds what is wrong with a text; nil if parsing has found that, or if any is right

	words    func() []string          // the words that are allowed; nil if the tag oneof has them, or if any text is
	mistaken map[string]usage.Problem // words that are none, and what the users who write them look for

	isJSON     bool         // an object of JSON; in the targets file a mapping of anything
	newMapping func() pairs // an empty value, if it is a mapping of texts in the targets file; nil for a single value
	wantInFile string       // the hint for a wrong entry of a mapping in the targets file
	isList     bool         // a list in the targets file, too, as a text with commas elsewhere
	addsUp     bool         // values of several sources are added together; otherwise the last one counts alone
}

// Pairs are the names and values of a mapping.
type pairs interface {
	add(name, value string) error // a [usage.Problem] if a pair is wrong
}

const wantPairs = "NAME=value,NAME=value (write a value that has a comma into the targets file)"

var (
	headerName = regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9a-zA-Z]+$") // token of RFC 9110, section 5.6.2
	hostName   = regexp.MustCompile(`^([-_a-zA-Z0-9]+(\.[-_a-zA-Z0-9]+)*\.?|[0-9a-fA-F:.]+)$`)
	identifier = regexp.MustCompile(`^[a-z0-9_]{1,100}$`)
	shortName  = regexp.MustCompile(`^.{1,100}$`)
	urlPath    = regexp.MustCompile(`^/[^?# ]*$`)

	anyText  = node{"type": "string"}
	whole    = node{"type": "integer"}
	number   = node{"type": "number"}
	duration = node{"type": "string", "pattern": "^([0-9.]+(ns|us|µs|ms|s|m|h))+$"}
	toggle   = node{"enum": []any{true, false, "on", "off"}}
	mapping  = node{"type": "object", "additionalProperties": anyText}

	depth = node{"type": "number", "minimum": 0, "maximum": 1}

	labelMapping = node{
		"type":                 "object",
		"additionalProperties": node{"type": []string{"string", "number", "boolean", "null"}},
		"propertyNames":        node{"pattern": labelName.String()},
		"maxProperties":        maxLabelNames,
	}
)

// kinds are the kinds of values by the tag format or, without it, by the type of the field.
var kinds = map[string]kind{
	"bool":          {name: "on|off", want: "on or off", schema: toggle},
	"int":           {name: "number", want: "a number, for example %s", schema: whole},
	"float64":       {name: "number", want: "a number, for example %s", schema: number},
	"time.Duration": {name: "duration", want: "a duration with its unit, for example %s", schema: duration},
	"string":        {name: "text", schema: anyText},

	"config.Secret": {name: "text", schema: anyText},
	"config.Headers": {
		name: "text", want: wantPairs, schema: mapping,
		newMapping: func() pairs { return Headers{} },
		wantInFile: "want each header once, as name: value",
	},
	"config.Body": {
		name: "JSON", want: `a JSON object, for example {"service_tier":"flex"}`, schema: node{"type": "object"},
		isJSON: true,
	},
	"config.Labels": {
		name: "text", want: wantPairs, schema: labelMapping,
		newMapping: func() pairs { return Labels{} },
		addsUp:     true,
	},
	"config.Depths": {
		name: "numbers",
		want: "a number from 0 to 1, or up to 10 different ones with commas between them: 0.1,0.5,0.9",
		schema: node{"anyOf": []any{
			depth,
			node{"type": "array", "items": depth, "minItems": 1, "maxItems": maxDepths, "uniqueItems": true},
		}},
		isList: true,
	},
	"config.GenAI": {
		name: "off|v1.41", want: "off, v1.41, or on for the newest version",
		schema: node{"enum": []any{true, false, "on", "off", "v1.41"}},
	},
	"config.SourceURL": {
		name: "URL", want: "http(s)://HOST[:PORT][/PATH], for example http://discovery.example.com/llm", schema: anyText,
	},
	"config.Shard": {
		name:   "text",
		want:   "INDEX/COUNT with indexes from 0, for example 0/3 or, by the name of a StatefulSet's pod, prober-0/3",
		schema: anyText,
	},

	"rate":   {name: "number", want: "probes per second, for example %s", schema: number},
	"tokens": {name: "number", want: "a number of tokens, for example %s", schema: whole},
	"limit":  {name: "duration", want: "a duration with its unit, for example 2s", schema: duration},
	"ratio":  {name: "number", want: "a ratio between 0 and 1: 99.9% is 0.999", schema: number},

	"api": {
		name: "word", schema: anyText,
		words: func() []string { return append([]string{wire.Auto}, wire.APIs()...) },
		mistaken: map[string]usage.Problem{"sglang": {
			Text: "SGLang's own API is not among the dialects",
			Hint: "use openai-chat, which SGLang serves as well and which is as exact",
		}},
	},
	"server": {
		name: "word", schema: anyText,
		words: func() []string { return append([]string{wire.Auto}, wire.Servers()...) },
	},
	"probe.Signal": {
		name: "word", schema: anyText, words: signals,
		mistaken: map[string]usage.Problem{"itl": perToken("itl"), "chunk_gap": perToken("chunk_gap")},
	},

	"address": {name: "host:port", want: "host:port, for example %s", schema: anyText, check: checkAddress},
	"file":    {name: "file", schema: anyText},
	"header": {
		name: "header", want: "the name of a header, for example x-user-id", schema: pattern(headerName),
		check: mustMatch(headerName, "not a valid name of an HTTP header"),
	},
	"host": {
		name: "host", want: "a host name without port, for example chat.example.com", schema: pattern(hostName),
		check: mustMatch(hostName, "not a host name"),
	},
	"identifier": {
		name: "text", want: "a-z, 0-9 and _ only", schema: pattern(identifier),
		check: mustMatch(identifier, "not an identifier"),
	},
	"name": {
		name: "name", want: "1 to 100 printable characters", schema: pattern(shortName),
		check: mustMatch(shortName, "has more than 100 characters"),
	},
	"path": {
		name: "path", want: "an absolute path without query, for example /v1/chat/completions", schema: pattern(urlPath),
		check: mustMatch(urlPath, "not the path of a URL"),
	},
	"website": {
		name: "text", want: "http(s)://HOST[:PORT][/PATH], for example https://grafana.example.com", schema: anyText,
		check: checkWebsite,
	},
	"token-url": {
		name: "URL", want: "a URL such as https://login.example.com/oauth2/token", schema: anyText, check: checkTokenURL,
	},
	"url": {
		name: "text", want: "http(s)://HOST[:PORT][/PATH], for example http://localhost:8000", schema: anyText,
		check: checkURL,
	},
}

// kindOf returns the kind of a field. A field without one is a mistake of the prober, and panics.
func kindOf(f reflect.StructField) kind {
	goType := strings.TrimPrefix(f.Type.String(), "*")
	name := cmp.Or(f.Tag.Get("format"), goType)
	k, ok := kinds[name]
	if !ok {
		panic(fmt.Sprintf("config: %s is of the kind %q, which does not exist", f.Name, name))
	}
	return k
}

// signals returns the words of the signals that an objective can judge.
func signals() (words []string) {
	for _, signal := range probe.Signals() {
		words = append(words, string(signal))
	}
	return words
}

// perToken is the problem of a quantity that has a value for each token, and so none for a probe.
func perToken(quantity string) usage.Problem {
	return usage.Problem{Text: quantity + " is per token, and objectives judge probes", Hint: "use tpot"}
}

func pattern(e *regexp.Regexp) node { return node{"type": "string", "pattern": e.String()} }

// mustMatch returns a check that texts match an expression. wrong is the text of the problem if one does not.
func mustMatch(e *regexp.Regexp, wrong string) func(string) error {
	return func(text string) error {
		if !e.MatchString(text) {
			return usage.Problem{Text: wrong}
		}
		return nil
	}
}

// printable reports whether s can stand in a metric label, an HTTP header or the line of a problem.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func checkAddress(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return usage.Problem{Text: "not an address"}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usage.Problem{Text: "the port must be 0 to 65535"}
	}
	return nil
}

func checkURL(s string) error {
	_, _, err := parseURL(s)
	return err
}

// parseURL reads the URL of a target. base is the URL with a scheme and without dns+, and each reports whether dns+ was
// there. The error is a [usage.Problem].
func parseURL(s string) (base string, each bool, err error) {
	base, each = strings.CutPrefix(s, "dns+")
	hasScheme := strings.Contains(base, "://")
	if !hasScheme {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", false, usage.Problem{Text: "not an http or https URL"}
	}
	port, errPort := strconv.ParseUint(u.Port(), 10, 16)
	_, errAddress := netip.ParseAddr(u.Hostname())
	switch {
	case u.User != nil:
		const hint = "leave them out: a key belongs in api_key_file, other credentials in headers"
		err = usage.Problem{Text: "has credentials in it", Hint: hint}
	case !hasScheme && !isPrivate(u):
		const text = "has no scheme, and only loopback and private hosts default to http://"
		err = usage.Problem{Text: text, Hint: "write https:// or http:// before it"}
	case strings.ContainsAny(s, "?#"):
		err = usage.Problem{Text: "has a query or a fragment"}
	case u.Port() != "" && (errPort != nil || port == 0):
		err = usage.Problem{Text: "the port must be 1 to 65535"}
	case each && errAddress == nil:
		err = usage.Problem{Text: "has an IP address, but dns+ looks up names", Hint: "leave out dns+"}
	}
	return base, each, err
}

// checkTokenURL finds what is wrong with the URL of a token endpoint, which may have a query. The error is a
// [usage.Problem].
func checkTokenURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return usage.Problem{Text: "not an http or https URL"}
	case u.User != nil:
		return usage.Problem{Text: "has credentials in it", Hint: "give them as oauth_client_id and oauth_secret_file"}
	}
	return nil
}

// checkWebsite finds what is wrong with the URL of a page, to which paths and queries are added. The error is a
// [usage.Problem].
func checkWebsite(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return usage.Problem{Text: "not an http or https URL"}
	case u.User != nil:
		return usage.Problem{Text: "has credentials in it", Hint: "leave them out: everyone who sees the page sees the link"}
	case strings.ContainsAny(s, "?#"):
		return usage.Problem{Text: "has a query or a fragment"}
	}
	return nil
}

// privateName matches names that are not on the internet (RFC 6761, 6762 and 8375, ICANN's .internal, Kubernetes).
var privateName = regexp.MustCompile(`(?i)^localhost$|\.(localhost|local|internal|lan|home\.arpa|svc)$`)

// isPrivate reports whether the host of u is on this machine or in the user's own network. A name without a dot needs a
// port.
func isPrivate(u *url.URL) bool {
	name := u.Hostname()
	if address, err := netip.ParseAddr(name); err == nil {
		return address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast() || address.IsUnspecified()
	}
	return privateName.MatchString(name) || name != u.Host && !strings.Contains(name, ".")
}

// parsers returns parsers that replace those of env, whose errors are not for users and whose switches are not on and
// off. A number that is too large becomes the largest one of its type, which no bounds allow.
func parsers() map[reflect.Type]env.ParserFunc {
	wrong := func(text string, err error) error {
		if err == nil || errors.Is(err, strconv.ErrRange) {
			return nil
		}
		return usage.Problem{Text: text}
	}
	return map[reflect.Type]env.ParserFunc{
		reflect.TypeFor[bool](): func(text string) (any, error) { return parseSwitch(text) },
		reflect.TypeFor[int](): func(text string) (any, error) {
			number, err := strconv.Atoi(text)
			return number, wrong("not a whole number", err)
		},
		reflect.TypeFor[float64](): func(text string) (any, error) {
			number, err := strconv.ParseFloat(text, 64)
			return number, wrong("not a number", err)
		},
		reflect.TypeFor[time.Duration](): func(text string) (any, error) {
			duration, err := time.ParseDuration(text)
			if strings.Trim(text, "0123456789.") == "" {
				return duration, wrong("has no unit", err)
			}
			return duration, wrong("not a duration", err)
		},
	}
}

func parseSwitch(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "on", "true":
		return true, nil
	case "off", "false":
		return false, nil
	}
	return false, usage.Problem{Text: "neither on nor off"}
}
