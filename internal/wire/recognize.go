package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Evidence is the replies of a server by which its type is recognized.
type Evidence struct {
	Answer  bool                // there is only Header, and it is of the answer to a probe: gateways put their names there
	Header  map[string][]string // of the reply to [ModelsPath], with canonical keys
	Models  []byte              // the body of that reply, whatever its status
	Refused bool                // the reply was not a success
	Prefix  string              // stands before "/v1" in the path that was answered
	Host    string              // the host that was asked, without its port

	Get func(path string) []byte // returns the reply to another path; nil unless it was a success
}

// A signature recognizes a server type. The first of Header, Host, Entry, Own, Refusal, Prefix and Path that is set is
// compared. If none is, the owner of the first model must be Word.
type signature struct {
	Header  string // a header of the model list's reply that contains Word
	Host    string // the name of the host, or the end of the name after a dot; the name must begin with Word
	Entry   string // a key in the first entry of the model list; "a.b" is key b of the object a
	Own     bool   // the first model of the list is its own owner and was created in 1970 (TGI)
	Refusal string // the reply contains this, without spaces, where the model list was refused
	Prefix  string // stands before "/v1" in the path of the model list
	Path    string // a path whose reply contains Word

	// Word is what to look for. With Entry alone, if it is set, the owner of the first model must be it. With Entry and
	// Path, the reply to that path must contain it, and the owner does not matter.
	Word string

	Refused bool // holds only where the model list was refused
	Answers bool // holds for the answers to probes as well
}

// Recognize returns the type of a server; ok is false if no known type fits.
func Recognize(e Evidence) (s Server, ok bool) {
	for _, s := range servers {
		fits := func(sig signature) bool { return sig.matches(e) }
		if slices.ContainsFunc(s.Signatures, fits) {
			return s, true
		}
	}
	return Server{}, false
}

// matches reports whether a server has the signature.
func (s signature) matches(e Evidence) bool {
	switch {
	case s.Refused && !e.Refused, e.Answer && !s.Answers:
		return false
	case s.Header != "":
		hasWord := func(value string) bool { return strings.Contains(value, s.Word) }
		return slices.ContainsFunc(e.Header[s.Header], hasWord)
	case s.Host != "":
		isThere := e.Host == s.Host || strings.HasSuffix(e.Host, "."+s.Host)
		return isThere && strings.HasPrefix(e.Host, s.Word)
	case s.Entry != "" && s.Path != "":
		return e.entry(s.Entry) != nil && e.replyContains(s.Path, s.Word)
	case s.Entry != "":
		return e.entry(s.Entry) != nil && (s.Word == "" || e.isOwner(s.Word))
	case s.Own:
		id := stringIn(e.entry("id"))
		return len(id) > 0 && e.isOwner(string(id)) && string(e.entry("created")) == "0"
	case s.Refusal != "":
		reply := bytes.ReplaceAll(e.Models, []byte(" "), nil)
		return e.Refused && bytes.Contains(reply, []byte(s.Refusal))
	case s.Prefix != "":
		return e.Prefix == s.Prefix
	case s.Path != "":
		return e.replyContains(s.Path, s.Word)
	}
	return e.isOwner(s.Word)
}

// replyContains reports whether the reply to a path contains a word.
func (e Evidence) replyContains(path, word string) bool {
	return bytes.Contains(e.Get(path), []byte(word))
}

// entry returns the value of a key, as in [signature], in the first entry of the model list; nil if there is none.
func (e Evidence) entry(key string) []byte {
	if e.Refused || !json.Valid(e.Models) {
		return nil
	}
	value := firstElement(memberOf(bytes.TrimSpace(e.Models), "data"))
	for name := range strings.SplitSeq(key, ".") {
		value = memberOf(value, name)
	}
	return value
}

// isOwner reports whether the first model of the list has an owner of that name.
func (e Evidence) isOwner(name string) bool {
	return string(stringIn(e.entry("owned_by"))) == name
}
