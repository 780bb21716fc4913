package wire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Evidence is the replies of a server by which its type is recognized.
type Evidence struct {
	Answer  bool                // there is only the header of an answer to a probe, where gateways name themselves
	Header  map[string][]string // of the reply to [ModelsPath], with canonical keys
	Models  []byte              // the body of that reply, whatever its status
	Refused bool                // the reply was not a success
	Prefix  string              // stands before "/v1" in the path that was answered
	Host    string              // the host that was asked, without its port

	Get func(path string) []byte // returns the reply to another path; nil unless it was a success
}

// A signature recognizes a server type: a server has it if all of its matchers fit.
type signature []matcher

// A matcher looks at one thing that a server shows.
type matcher struct {
	Kind string // what to look at; the kinds are explained in [matcher.fits]
	Key  string // which of them: the name of a header, a path, …
	Word string // what has to be there; for some kinds anything will do
}

// matcherNeeds says what a matcher of each kind cannot do without. The table is only read.
var matcherNeeds = map[string]struct{ key, word bool }{
	"owner":          {word: true},
	"own-owner":      {},
	"entry":          {key: true},
	"refusal":        {},
	"header":         {key: true},
	"gateway-header": {key: true},
	"host":           {key: true},
	"prefix":         {word: true},
	"path":           {key: true, word: true},
}

// check returns an error if s fits every server, or none.
func (s signature) check() error {
	if len(s) == 0 {
		return errors.New("a signature without a matcher")
	}
	for _, m := range s {
		needs, isKnown := matcherNeeds[m.Kind]
		switch {
		case !isKnown:
			return fmt.Errorf("unknown kind of matcher %q", m.Kind)
		case needs.key && m.Key == "":
			return fmt.Errorf("a matcher of kind %s needs a key", m.Kind)
		case needs.word && m.Word == "":
			return fmt.Errorf("a matcher of kind %s needs a word", m.Kind)
		}
	}
	return nil
}

// Recognize returns the type of a server; ok is false if no known type fits.
func Recognize(e Evidence) (s Server, ok bool) {
	model := e.firstModel()
	for _, s := range servers {
		for _, sig := range s.Signatures {
			if sig.fits(e, model) {
				return s, true
			}
		}
	}
	return Server{}, false
}

// firstModel returns the first entry of the list of models; one that does not exist if there is none.
func (e Evidence) firstModel() gjson.Result {
	list, isJSON := parseJSON(e.Models)
	if e.Refused || !isJSON {
		return gjson.Result{}
	}
	return firstElement(member(list, "data"))
}

func (s signature) fits(e Evidence, model gjson.Result) bool {
	for _, m := range s {
		if !m.fits(e, model) {
			return false
		}
	}
	return true
}

// fits reports whether a server shows what m looks for. model is the first of its list.
func (m matcher) fits(e Evidence, model gjson.Result) bool {
	if e.Answer && m.Kind != "gateway-header" {
		return false
	}
	owner := member(model, "owned_by").Str
	switch m.Kind {
	case "owner": // the model belongs to Word
		return owner == m.Word
	case "own-owner": // the model is its own owner, and was created in 1970 (TGI)
		return owner != "" && owner == member(model, "id").Str && member(model, "created").Raw == "0"
	case "entry": // the model has Key; "a.b" is key b of the object a
		return member(model, strings.Split(m.Key, ".")...).Exists()
	case "refusal": // the list was refused, in a reply that contains Word (both without spaces)
		reply := bytes.ReplaceAll(e.Models, []byte(" "), nil)
		return e.Refused && bytes.Contains(reply, []byte(m.Word))
	case "header", "gateway-header": // a header called Key contains Word; a gateway's is on answers to probes as well
		hasWord := func(value string) bool { return strings.Contains(value, m.Word) }
		return slices.ContainsFunc(e.Header[m.Key], hasWord)
	case "host": // the host is Key or within that domain, and its name begins with Word
		isThere := e.Host == m.Key || strings.HasSuffix(e.Host, "."+m.Key)
		return isThere && strings.HasPrefix(e.Host, m.Word)
	case "prefix": // Word stands before "/v1" in the path that was answered
		return e.Prefix == m.Word
	case "path": // the reply to the path Key contains Word
		return bytes.Contains(e.Get(m.Key), []byte(m.Word))
	}
	return false
}
