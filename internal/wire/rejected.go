package wire

import (
	"regexp"
	"slices"
	"strings"
)

// Rejected returns the fields of a request that a reply of 400 or 422 names, without those in omitted. The server does
// not know them, and may answer a request without them.
func Rejected(d *Dialect, reply []byte, omitted []Field) []Field {
	text := trailingList.Split(string(reply), 2)[0]
	const secondLimit = FieldMaxCompletionTokens
	sendsBoth := slices.Contains(d.Fields, secondLimit) && !slices.Contains(omitted, secondLimit)
	if sendsBoth && duplicateField.MatchString(text) {
		return []Field{secondLimit}
	}
	c := complaint{text: text, words: wordPattern.FindAllString(text, -1)}
	var rejected []Field
	for _, f := range d.Fields {
		if !slices.Contains(omitted, f) && c.rejects(f) {
			rejected = append(rejected, f)
		}
	}
	if slices.Contains(rejected, FieldContinuousUsage) { // it lies in stream_options, which the complaint names as well
		isOuter := func(f Field) bool { return f == FieldStreamOptions }
		rejected = slices.DeleteFunc(rejected, isOuter)
	}
	return rejected
}

// A complaint is what a server says of a request that it does not accept.
type complaint struct {
	text  string
	words []string
}

// rejects reports whether the server does not know a field, rather than its value.
func (c complaint) rejects(f Field) bool {
	switch f {
	case FieldMaxTokens:
		return c.wantsMaxCompletionTokens()
	case FieldMaxCompletionTokens:
		return c.names(f) && !c.wantsMaxCompletionTokens() && !strings.Contains(c.text, "too large")
	}
	return c.names(f)
}

// wantsMaxCompletionTokens reports whether the server wants max_completion_tokens instead of max_tokens, as OpenAI says
// it. Other complaints that name max_tokens are about its value.
func (c complaint) wantsMaxCompletionTokens() bool {
	return c.names(FieldMaxTokens) && c.names(FieldMaxCompletionTokens) && strings.Contains(c.text, "nsupported")
}

// names reports whether the complaint names a field, by its name or by the one that some servers know it by.
func (c complaint) names(f Field) bool {
	return slices.Contains(c.words, string(f)) || slices.Contains(c.words, aliases[f])
}

var wordPattern = regexp.MustCompile(`\w+`)

// trailingList matches what may follow a complaint: a list of all fields that the server knows (serde), or the request
// (pydantic).
var trailingList = regexp.MustCompile(`expected one of|"input":|'input':|\\"input\\":`)

// duplicateField matches the complaint of a server to which both names of an answer's limit are one field (serde, TGI).
var duplicateField = regexp.MustCompile("duplicate field `(max_tokens|max_completion_tokens)`")

// aliases are the names that some servers know a field by. The table is only read.
var aliases = map[Field]string{
	FieldMinTokens: "min_new_tokens", // SGLang, LMDeploy
	FieldCacheSalt: "extra_key",      // SGLang
}
