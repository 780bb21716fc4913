package wire

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// This file reads errors that are no JSON objects, and describes for people what a server sent instead of an answer.
// What may be an answer is never repeated.

// ParseErrorEvent reads the data of an event that is called an error, whatever they are.
func ParseErrorEvent(data []byte) *ServerError {
	e := ParseError(data)
	if e == nil {
		e = &ServerError{Message: Describe(data, "")}
	}
	return e
}

// ParseBody reads the error in a body with a status of success that should have been a stream: an error object, or a
// short text that complains. It returns nil for anything else, such as a page.
func ParseBody(body []byte) *ServerError {
	const longestText = 300 // bytes; more may be an answer
	e := ParseError(body)
	if e == nil && len(body) <= longestText && !IsPage(body) {
		e = ParseWords(body)
	}
	return e
}

// ParseWords reads an error that is not valid JSON: an object that was cut or is Python's, a page, or plain words in
// place of an answer. It returns nil for words that may be a part of an answer.
func ParseWords(text []byte) *ServerError {
	text = bytes.TrimSpace(text)
	namesError := bytes.Contains(text, []byte(`"error`)) || bytes.Contains(text, []byte(`'error`))
	isBrokenJSON := bytes.HasPrefix(text, []byte("{")) && namesError && !MayBeAnswer(text)
	isWords := len(text) > 0 && text[0] != '{' && text[0] != '[' && failureWords.Match(text)
	if isBrokenJSON || isWords || IsPage(text) || isProxyError(text) {
		return &ServerError{Message: Describe(text, "")}
	}
	return nil
}

// failureWords matches words that servers use for failures.
var failureWords = regexp.MustCompile(`(?i)\b(errors?|exceptions?|fail(s|ed|ure)?|invalid|must( not)? be|unable to` +
	`|(service|temporarily|currently) unavailable|unavailable|unauthori[sz]ed|forbidden|(access|permission) denied` +
	`|refused|rejected|exceed(s|ed)|rate limit\w*|quota|time(d )?-?out|overload(ed)?|crashed|aborted` +
	`|not (found|allowed|supported|available|ready)|upstream|try again|no (available|healthy)|server (is )?busy)\b`)

// isProxyError reports whether a text is one with which a router or a proxy ends a stream.
func isProxyError(data []byte) bool {
	for _, prefix := range proxyErrorPrefixes {
		start := data[:min(len(data), len(prefix))]
		if strings.EqualFold(string(start), prefix) {
			return true
		}
	}
	return false
}

// proxyErrorPrefixes are the beginnings of plain texts with which routers and proxies end a stream. Any other text may
// be a part of an answer, which no error repeats. The list is only read.
var proxyErrorPrefixes = []string{
	"inference error", "error", "[error", "internal error", "internal server error", // llm-d's router; many others
	"upstream ", "no healthy upstream", "stream timeout", "stream idle timeout", // Envoy
	"bad gateway", "gateway timeout", "service unavailable", "too many requests",
}

// HeaderError reads the error that a header with canonical keys names; nil if there is none. AWS puts the class of an
// error there, and servers of OAuth 2.0 (RFC 6750) all that they say.
func HeaderError(header map[string][]string) *ServerError {
	for _, kind := range header["X-Amzn-Errortype"] { // Kind:http://… or namespace#Kind
		kind, _, _ = strings.Cut(kind, ":")
		kind = kind[strings.LastIndexByte(kind, '#')+1:]
		if kind != "" {
			return &ServerError{Type: shorten(kind)}
		}
	}
	e := &ServerError{}
	challenges := strings.Join(header["Www-Authenticate"], ", ")
	for _, field := range bearerError.FindAllStringSubmatch(challenges, -1) {
		if field[1] == "" {
			e.Type = shorten(field[2])
		} else {
			e.Message = shorten(field[2])
		}
	}
	if *e == (ServerError{}) {
		return nil
	}
	return e
}

// bearerError matches a field of a challenge that says what is wrong.
var bearerError = regexp.MustCompile(`\berror(_description)?="([^"]*)"`)

// Describe returns what a server said in an answer that should have been a stream, for a text that has the HTTP status
// already, if there is one: its error object, its message, the text of its page, else the start of what it sent. What
// may be an answer is only described by its length.
func Describe(body []byte, status string) string {
	e := ParseError(body)
	if e == nil {
		object, _ := parseJSON(body)
		e = messageAlone(object)
	}
	switch {
	case e != nil:
		return e.words(status)
	case IsPage(body):
		return pageText(body, status)
	case MayBeAnswer(body):
		return fmt.Sprintf("%d bytes", len(body))
	}
	return shorten(strings.Join(strings.Fields(string(body)), " "))
}

// MayBeAnswer reports whether a text has keys under which APIs write an answer, so that it must not be shown.
func MayBeAnswer(text []byte) bool { return answerKeys.Match(text) }

var answerKeys = regexp.MustCompile(`["'](choices|content|output|output_text|text|text_output|generated_text|response` +
	`|completion|candidates|parts|delta|token|reasoning\w*|thinking)["']\s*:`)

// shorten bounds what is kept of a server's words, which may be anything, for example a compressed page.
func shorten(s string) string {
	const longest = 300 // bytes
	clean := strings.ToValidUTF8(s, "�")
	if len(clean) <= longest {
		return clean
	}
	return fmt.Sprintf("%s … (%d bytes)", strings.ToValidUTF8(clean[:longest], ""), len(s))
}
