package wire

import (
	"fmt"
	"strings"
	"testing"
)

// TestReplies holds what is understood of the replies with which servers refuse a request, or break off a stream.
func TestReplies(t *testing.T) {
	for _, path := range files(t, "replies-*.txt") {
		checkCases(t, path, understood)
	}
}

// understood returns what is understood of a reply, in words.
func understood(sent string) string {
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
	l.add(BrokenBackend(reply), "a broken backend")
	l.add(Loading(reply), "loading")
	l.add(WantsTLS(reply), "wants TLS")
	l.add(WantsCertificate(reply), "wants a certificate")
	if failure != nil {
		l.add(failure.Class() != OtherError, "%s", [...]string{
			"", "the request is at fault", "the key is refused", "a limit of the rate",
			"filtered", "overloaded",
		}[failure.Class()])
	}
	l.addError(failure)
	return l.String()
}

// TestDescribe holds what is shown of an answer that should have been a stream: a page by its title and text, all of it
// by its beginning and how long it is.
func TestErrorsInHeaders(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"X-Amzn-Errortype", "ThrottlingException", "ThrottlingException"},
		{"X-Amzn-Errortype", "ThrottlingException:http://internal.amazon.com/coral/", "ThrottlingException"},
		{"X-Amzn-Errortype", "com.amazon.coral#AccessDeniedException", "AccessDeniedException"},
		{"Www-Authenticate", `Bearer realm="a", error="invalid_token", error_description="The token expired"`,
			"invalid_token: The token expired"},
		{"Www-Authenticate", `Bearer error_description="The token expired"`, "The token expired"},
		{"Www-Authenticate", `Bearer realm="a"`, ""},
		{"X-Amzn-Errortype", "", ""},
		{"X-Error", "ThrottlingException", ""},
	} {
		e := HeaderError(map[string][]string{test.name: {test.value}})
		got := ""
		if e != nil {
			got = e.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s: %q, want %q", test.name, test.value, got, test.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	long := strings.Repeat("é", 400)
	for _, test := range []struct{ body, status, want string }{
		{"plain\n  words ", "", "plain words"},
		{long, "", strings.Repeat("é", 150) + " … (800 bytes)"},
		{"<h1>\n 502   Bad Gateway</h1>" + long, "502",
			"Bad Gateway " + strings.Repeat("é", 144) + " … (812 bytes)"},
		{"<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center>" +
			"<hr><center>nginx/1.22.1</center></body></html>", "502", "Bad Gateway"},
		{"<html><head><title>400 No required SSL certificate was sent</title></head><body><center><h1>400 Bad Request</h1>" +
			"</center><center>No required SSL certificate was sent</center></body></html>", "400",
			"No required SSL certificate was sent: Bad Request"},
		{"<!DOCTYPE html><html><head><title>503 Backend fetch failed</title></head><body><h1>Error 503 Backend fetch failed" +
			"</h1><p>Backend fetch failed</p><h3>Guru Meditation:</h3><p>XID: 5</p></body></html>", "503",
			"Backend fetch failed: Guru Meditation: XID: 5"},
		{"<html><title>HTTP Status 404 – Not Found</title><h1>HTTP Status 404 – Not Found</h1></html>", "404", "Not Found"},
		{"<html><title>Error 500 Server Error</title><h2>HTTP ERROR 500</h2></html>", "500", "Server Error"},
		{"<html><title>502</title><p>A server of 200 died</p></html>", "502", "A server of 200 died"},
		{"<!DOCTYPE html><html><head><title>Sign\nIn</title><style>b { color: red }</style><script>if (a<b) {}</script>" +
			"</head><!-- <p>no --><body><p>Sign in &amp; go on</p><svg><path d='M'/></svg></body>", "403",
			"Sign In: Sign in & go on"},
		{"<title>Down", "", "Down"},
		{`{"error":{"message":"m","type":"t","code":404}}`, "404", "t: m"},
		{`{"error":{"message":"m","type":"t","code":404}}`, "400", "t: 404: m"},
		{`{"message":"no Route matched with those values"}`, "404", "no Route matched with those values"},
		{"{}", "401", "{}"},
		{`{"choices":[{"message":{"content":"x"}}]}`, "500", "41 bytes"},
		{`{"error":{"partial":{"content":"x"}}}`, "500", "27 bytes"},
	} {
		if got := Describe([]byte(test.body), test.status); got != test.want {
			t.Errorf("%s is described as %q, want %q", test.body, got, test.want)
		}
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
			l.add(m.Unloaded, "unloaded")
		}
		return l.String()
	})
}

// TestModelsBehindAMark holds that a byte order mark before a list is no part of it.
func TestModelsBehindAMark(t *testing.T) {
	models, ok := ParseModels([]byte("\ufeff" + `{"data":[{"id":"a"}]}`))
	if !ok || len(models) != 1 || models[0].ID != "a" {
		t.Errorf("%v, %t", models, ok)
	}
}

// TestLoadedModels holds where Ollama names the context that it gives a model in memory.
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
			t.Errorf("%q names a context of %d", reply, got)
		}
	}
}

// TestDescriptions holds where Ollama names the longest context of a model, in its description.
func TestDescriptions(t *testing.T) {
	checkCases(t, "testdata/descriptions.txt", func(reply string) string {
		return fmt.Sprintf("context: %d", ParseDescription([]byte(reply)))
	})
}

// TestVersions holds which text of a reply is a version.
func TestVersions(t *testing.T) {
	for reply, want := range map[string]string{`{"version":"0.9.1"}`: "0.9.1", `{"version":5}`: "",
		"{\"version\":\"1\xff\"}": "1�", "": ""} {
		if got := ParseVersion([]byte(reply)); got != want {
			t.Errorf("the version in %s is %q, want %q", reply, got, want)
		}
	}
}
