package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
)

// This file reads the words of a server that are no error object: texts, pages of gateways, and messages.

// Describe returns what a server said in an answer that should have been a stream, for a text that has the HTTP status
// already, if there is one: its error object, its message, the text of its page, else the start of what it sent. What
// may be an answer is only described by its length.
func Describe(body []byte, status string) string {
	e := ParseError(body)
	if e == nil {
		e = messageAlone(body)
	}
	switch {
	case e != nil:
		return e.Beside(status)
	case IsPage(body):
		return pageText(body, status)
	case MayBeAnswer(body):
		return fmt.Sprintf("%d bytes", len(body))
	}
	return shorten(strings.Join(strings.Fields(string(body)), " "))
}

// HeaderError reads the error that a header with canonical keys names; nil if there is none. AWS puts the class of an
// error there, and servers of OAuth 2.0 (RFC 6750) all that they say.
func HeaderError(header map[string][]string) *ServerError {
	for _, kind := range header["X-Amzn-Errortype"] { // with a URL in front of it, or behind
		kind, _, _ = strings.Cut(kind, ":")
		_, kind = cutLast(kind, "#")
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

// ParseErrorEvent reads the data of an event that is called an error, whatever they are.
func ParseErrorEvent(data []byte) *ServerError {
	e := ParseError(data)
	switch {
	case e != nil:
		return e
	case MayBeAnswer(data):
		return &ServerError{Message: fmt.Sprintf("%d bytes", len(data))}
	}
	return &ServerError{Message: Describe(data, "")}
}

// ParseWords reads an error that is not a JSON text: a page, or plain words in place of an answer. It returns nil for
// words that may be a part of an answer.
func ParseWords(text []byte) *ServerError {
	text = bytes.TrimSpace(text)
	namesError := bytes.Contains(text, []byte(`"error`)) || bytes.Contains(text, []byte("'error"))
	isCutJSON := bytes.HasPrefix(text, []byte("{")) && namesError && !MayBeAnswer(text) // or as Python writes it
	isWords := len(text) > 0 && text[0] != '{' && text[0] != '[' && failureWords.Match(text)
	if isCutJSON || isWords || IsPage(text) || isProxyError(text) {
		return &ServerError{Message: Describe(text, "")}
	}
	return nil
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

// messageAlone reads an object that has a message, and nothing else that says that it is an error; nil for others.
func messageAlone(body []byte) *ServerError {
	body = bytes.TrimSpace(body)
	if !json.Valid(body) || body[0] != '{' || MayBeAnswer(body) {
		return nil
	}
	fields := errorFieldsIn(body)
	isText := len(fields.Message) > 2 && fields.Message[0] == '"'
	if !isText {
		return nil
	}
	return fields.serverError()
}

// MayBeAnswer reports whether a text has keys under which APIs write an answer, so that it must not be shown.
func MayBeAnswer(text []byte) bool { return answerKeys.Match(text) }

var answerKeys = regexp.MustCompile(`["'](choices|content|output|output_text|text|text_output|generated_text|response` +
	`|completion|candidates|parts|delta|token|reasoning\w*|thinking)["']\s*:`)

// isProxyError reports whether a text is one with which a router or a proxy ends a stream.
func isProxyError(data []byte) bool {
	return slices.ContainsFunc(proxyErrorPrefixes, func(prefix string) bool {
		start := data[:min(len(data), len(prefix))]
		return strings.EqualFold(string(start), prefix)
	})
}

// proxyErrorPrefixes are the beginnings of plain texts with which routers and proxies end a stream. Any other text may
// be a part of an answer, which no error repeats. The list is only read.
var proxyErrorPrefixes = []string{
	"inference error", "error", "[error", "internal error", "internal server error", // llm-d's router; many others
	"upstream ", "no healthy upstream", "stream timeout", "stream idle timeout", // Envoy
	"bad gateway", "gateway timeout", "service unavailable", "too many requests",
}

// failureWords matches words that servers use for failures.
var failureWords = regexp.MustCompile(`(?i)\b(errors?|exceptions?|fail(s|ed|ure)?|invalid|must( not)? be|unable to` +
	`|(service|temporarily|currently) unavailable|unavailable|unauthori[sz]ed|forbidden|(access|permission) denied` +
	`|refused|rejected|exceed(s|ed)|rate limit\w*|quota|time(d )?-?out|overload(ed)?|crashed|aborted` +
	`|not (found|allowed|supported|available|ready)|upstream|try again|no (available|healthy)|server (is )?busy)\b`)

// awakeWords matches the single words with which some servers keep a connection awake.
var awakeWords = regexp.MustCompile(`(?i)^(ping|pong|heartbeat|keep-?alive|ok|none|undefined|nan|processing)[.!]*$`)

// IsPage reports whether a body is a page of HTML or XML.
func IsPage(body []byte) bool {
	body = bytes.TrimSpace(body)
	start := bytes.ToLower(body[:min(len(body), 100)])
	tags := []string{"<!doctype", "<html", "<head", "<body", "<title", "<h1", "<center", "<?xml", "<!--"}
	return slices.ContainsFunc(tags, func(tag string) bool { return bytes.HasPrefix(start, []byte(tag)) })
}

// PageServer returns the server that a page of nginx and its relatives names at its end; empty if it names none.
func PageServer(page []byte) string {
	match := pageServer.FindSubmatch(page)
	if match == nil {
		return ""
	}
	return shorten(string(match[1]))
}

var pageServer = regexp.MustCompile(`(?i)<hr>\s*<center>([\w./ -]{1,60})</center>`)

// unshown matches what a browser does not show of a page: scripts, styles, comments.
var unshown = regexp.MustCompile(`(?is)<script\b.*?(</script[^>]*>|$)|<style\b.*?(</style[^>]*>|$)` +
	`|<svg\b.*?(</svg[^>]*>|$)|<!--.*?(-->|$)|<hr>\s*<center>[^<]*</center>`)

var (
	titleTag = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title[^>]*>`)
	anyTag   = regexp.MustCompile(`(?s)<[^>]*(>|$)`)

	// leadingStatus matches a status at the start of a page's words: "502", "Error 503", "HTTP Status 404 –".
	leadingStatus = regexp.MustCompile(`(?i)^(?:(?:http|error|status|code)[ :-]+)*(\d{3})\b[ :|–—-]*`)
)

// pageText returns the title of a page and its text, without the status, which is said already, and without what the
// title says.
func pageText(page []byte, status string) string {
	const longest = 64 << 10 // bytes
	shown := unshown.ReplaceAll(page[:min(len(page), longest)], []byte(" "))
	title := ""
	match := titleTag.FindSubmatch(shown)
	if match != nil {
		title = withoutStatus(plainText(match[1]), status)
	}
	text := withoutStatus(plainText(titleTag.ReplaceAll(shown, []byte(" "))), status)
	if title == "" {
		return shorten(text)
	}
	rest := strings.Join(strings.Fields(strings.ReplaceAll(text, title, " ")), " ")
	rest = strings.TrimLeft(rest, ":. ")
	if rest == "" {
		return shorten(title)
	}
	return shorten(title + ": " + rest)
}

// withoutStatus returns the words of a page without the status at their start, if it is that.
func withoutStatus(text, status string) string {
	match := leadingStatus.FindStringSubmatch(text)
	if match == nil || match[1] != status {
		return text
	}
	return text[len(match[0]):]
}

// plainText returns the words of a part of a page, without its tags.
func plainText(part []byte) string {
	text := html.UnescapeString(string(anyTag.ReplaceAll(part, []byte(" "))))
	return strings.Join(strings.Fields(text), " ")
}

// Cut stands where a server's words were shortened.
const Cut = " … "

// shorten bounds what is kept of a server's words, which may be anything, for example a compressed page.
func shorten(s string) string {
	const longest = 300 // bytes
	clean := strings.ToValidUTF8(s, "�")
	if len(clean) <= longest {
		return clean
	}
	return fmt.Sprintf("%s%s(%d bytes)", strings.ToValidUTF8(clean[:longest], ""), Cut, len(s))
}
