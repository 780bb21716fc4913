package wire

import (
	"fmt"
	"strings"
	"testing"
)

// TestReplies holds what is understood of the replies with which servers refuse a request, or break off a stream.
func TestReplies(t *testing.T) {
	checkCases(t, "testdata/replies.txt", func(sent string) string {
		reply := []byte(sent)
		limits, tooLong := TooLong(reply)
		failure := ParseError(reply)
		var l words
		l.add(tooLong, "too long")
		l.add(limits.Context > 0, "context: %d", limits.Context)
		l.add(limits.Input > 0, "input: %d", limits.Input)
		l.add(NoTemplate(reply), "no chat template")
		l.add(WrongModel(reply), "wrong model")
		l.add(WantsHeader(reply), "wants a header")
		l.add(BadKey(reply), "bad key")
		l.add(NoBackend(reply), "no backend")
		l.add(failure != nil && failure.Invalid(), "the request is at fault")
		l.add(failure != nil && failure.Overloaded(), "overloaded")
		l.addError(failure)
		return l.String()
	})
}

// TestDescribe holds that a page is described by the beginning of its text, and by how long it is.
func TestDescribe(t *testing.T) {
	page := "<h1>\n 502   Bad Gateway</h1>" + strings.Repeat("é", 400)
	want := "<h1> 502 Bad Gateway</h1>" + strings.Repeat("é", 137) + Cut + "(825 bytes)"
	if got := Describe([]byte(page)); got != want {
		t.Errorf("described as %q, want %q", got, want)
	}
}

// TestModels holds which models a reply lists, and the lengths of their contexts.
func TestModels(t *testing.T) {
	checkCases(t, "testdata/models.txt", func(reply string) string {
		models, ok := ParseModels([]byte(reply))
		if !ok {
			return "not a list of models"
		}
		var l words
		for _, m := range models {
			l.add(true, "%s", m.ID)
			l.add(m.Context > 0, "context: %d", m.Context)
			l.add(m.Input > 0, "input: %d", m.Input)
		}
		return l.String()
	})
}

// TestLoadedModels holds where Ollama tells the context that it gives a model in memory.
func TestLoadedModels(t *testing.T) {
	const loaded = `{"models":[{"name":"a:latest","model":"a:latest","size_vram":0,"context_length":32768},` +
		`{"name":"b:7b","context_length":2048},{"name":"c"}]}`
	for model, want := range map[string]int{"a:latest": 32768, "a": 32768, "b:7b": 2048, "b": 0, "c": 0, "d": 0} {
		if got := ParseLoaded([]byte(loaded), model); got != want {
			t.Errorf("%s is loaded with a context of %d, want %d", model, got, want)
		}
	}
	for _, reply := range []string{"", "405 method not allowed", "[]", "null"} {
		if got := ParseLoaded([]byte(reply), "a"); got != 0 {
			t.Errorf("%q tells a context of %d", reply, got)
		}
	}
}

// TestDescriptions holds where Ollama tells the longest context of a model, in its description.
func TestDescriptions(t *testing.T) {
	checkCases(t, "testdata/descriptions.txt", func(reply string) string {
		return fmt.Sprintf("context: %d", ParseDescription([]byte(reply)))
	})
}

// TestVersions holds which text of a reply is a version.
func TestVersions(t *testing.T) {
	long := `{"version":"` + strings.Repeat("1", 61) + `"}`
	for reply, want := range map[string]string{`{"version":"0.9.1"}`: "0.9.1", long: "", `{"version":5}`: "", "": ""} {
		if got := ParseVersion([]byte(reply)); got != want {
			t.Errorf("the version in %s is %q, want %q", reply, got, want)
		}
	}
}
