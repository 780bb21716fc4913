package wire

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
)

// An Object is what a user adds to the JSON of each request: fields that the prober does not know. Its values are those
// of encoding/json. It is only read.
type Object map[string]any

// merge adds all fields of an object. What both have is the object's, and inner objects are merged in the same way.
func (b body) merge(object map[string]any) {
	for key, value := range object {
		mine, isMine := b[key].(body)
		theirs, isTheirs := value.(map[string]any)
		if isMine && isTheirs {
			mine.merge(theirs)
		} else {
			b[key] = value
		}
	}
}

// replaceable are fields of requests that are not necessary: a user may have a reason for another value. The list is
// only read.
var replaceable = []string{"cache_prompt", "do_sample", "keep_alive"}

// measuring are the optional fields without which an answer could not be timed, counted or bounded. The list is only
// read.
var measuring = []Field{
	FieldStreamOptions, FieldContinuousUsage, FieldMaxTokens, FieldMaxCompletionTokens, FieldDetails,
	fieldExcludeInput, fieldFinishReason, fieldInputTokens, fieldOutputTokens,
}

// Reserved returns the fields of an object that a request of this API needs for itself: the model, the prompt, the
// stream and its options, the limit of the answer. They are sorted, and those of inner objects are written with dots.
// For [Auto] they are those of all APIs.
func Reserved(api string, o Object) []string {
	found := map[string]bool{}
	for _, d := range dialects {
		if api != Auto && api != d.Name {
			continue
		}
		system := []Turn{{Role: "system"}}
		needed := d.body(Ask{Model: "m", Turns: system, Omit: []Field{FieldMaxTokens}})
		for _, f := range measuring {
			if slices.Contains(d.Fields, f) {
				needed.set(d.keyOf(f, Server{}), nil)
			}
		}
		for _, key := range append(replaceable, "parameters.do_sample") {
			delete(needed, key)
		}
		needed["n"] = nil // answers: one is read
		needed["best_of"] = nil
		needed["echo"] = nil // the prompt as the first tokens of the answer
		addCommon(found, needed, o, "")
	}
	return slices.Sorted(maps.Keys(found))
}

// addCommon adds the fields that two objects have in common, as they are called in the outermost object.
func addCommon(found map[string]bool, needed body, o map[string]any, outer string) {
	for key, value := range o {
		mine, isNeeded := needed[key]
		innerNeeded, isMine := mine.(body)
		inner, isTheirs := value.(map[string]any)
		switch {
		case isMine && isTheirs:
			addCommon(found, innerNeeded, inner, outer+key+".")
		case isNeeded && !slices.Contains(replaceable, key):
			found[outer+key] = true
		}
	}
}

// Keys returns the names of all fields of an object and of the objects in it.
func (o Object) Keys() []string {
	var names []string
	for key, value := range o {
		names = append(names, key)
		inner, isObject := value.(map[string]any)
		if isObject {
			names = append(names, Object(inner).Keys()...)
		}
	}
	return names
}

// String returns the object as JSON, with its fields sorted.
func (o Object) String() string {
	text, _ := json.Marshal(map[string]any(o)) // of what came out of JSON
	return string(text)
}

// ending are the fields with which a user decides where an answer ends. The list is only read.
var ending = []string{
	"ignore_eos", "min_tokens", "stop", "stop_token_ids", "stop_sequences", "response_format", "structured_outputs",
	"guided_json", "guided_regex", "guided_choice", "guided_grammar", "tools", "format", "grammar", "json_schema",
}

// MayEndEarly reports whether the answer may be shorter than MaxTokens on purpose: because of its form, or because of
// what the user adds to the request.
func (a Ask) MayEndEarly() bool {
	isOfEnding := func(key string) bool { return slices.Contains(ending, key) }
	return a.Form != nil || slices.ContainsFunc(a.Body.Keys(), isOfEnding)
}

// NamedField returns the field that a rejection names among those that the user has added to the request: the server
// does not know the field, or does not take its value. It is written with dots, and empty if the reply names none. Of
// several the innermost one counts: a server that names a field often names the object that holds it as well.
func (o Object) NamedField(reply []byte) string {
	complaint := trailingList.Split(string(start(reply)), 2)[0]
	complaint = replyKey.ReplaceAllString(complaint, "")
	words := wordPattern.FindAllString(complaint, -1)
	return o.firstNamed(words)
}

// replyKey matches a key of a reply, such as "type": it says nothing of the request.
var replyKey = regexp.MustCompile(`\\?"\w+\\?"\s*:`)

// firstNamed returns the innermost field whose name is among some words, the first one by name.
func (o Object) firstNamed(words []string) string {
	outer := ""
	for _, key := range slices.Sorted(maps.Keys(o)) {
		inner, _ := o[key].(map[string]any)
		named := Object(inner).firstNamed(words)
		if named != "" {
			return key + "." + named
		}
		if outer == "" && slices.Contains(words, key) {
			outer = key
		}
	}
	return outer
}

// Sets reports whether the user has given an optional field a value, or a field of its name elsewhere. A server that
// rejects it is asked with it all the same.
func (o Object) Sets(f Field) bool {
	return slices.ContainsFunc(o.Keys(), func(key string) bool { return key == string(f) || key == aliases[f] })
}
