package wire

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
)

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

// IsPage reports whether a body is a page of HTML or XML.
func IsPage(body []byte) bool {
	body = bytes.TrimSpace(body)
	start := bytes.ToLower(body[:min(len(body), 100)])
	for _, tag := range []string{"<!doctype", "<html", "<head", "<body", "<title", "<h1", "<center", "<?xml", "<!--"} {
		if bytes.HasPrefix(start, []byte(tag)) {
			return true
		}
	}
	return false
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

// cutMark stands where a server's words were shortened.
const cutMark = " … "

// shorten bounds what is kept of a server's words, which may be anything, for example a compressed page.
func shorten(s string) string {
	const longest = 300 // bytes
	clean := strings.ToValidUTF8(s, "�")
	if len(clean) <= longest {
		return clean
	}
	return fmt.Sprintf("%s%s(%d bytes)", strings.ToValidUTF8(clean[:longest], ""), cutMark, len(s))
}
