package wire

import (
	"bytes"
	"html"
	"regexp"
	"strings"
)

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

// unshown matches what a browser does not show of a page: scripts, styles, pictures, comments. It also matches the name
// of the server at its end: see [PageServer].
var unshown = regexp.MustCompile(`(?is)<script\b.*?(</script[^>]*>|$)|<style\b.*?(</style[^>]*>|$)` +
	`|<svg\b.*?(</svg[^>]*>|$)|<!--.*?(-->|$)|<hr>\s*<center>[^<]*</center>`)

var (
	titleTag = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title[^>]*>`)
	anyTag   = regexp.MustCompile(`(?s)<[^>]*(>|$)`)
)

// withoutStatus returns the words of a page without the status at their start, if it is that.
func withoutStatus(text, status string) string {
	match := leadingStatus.FindStringSubmatch(text)
	if match == nil || match[1] != status {
		return text
	}
	return text[len(match[0]):]
}

// leadingStatus matches a status at the start of a page's words: "502", "Error 503", "HTTP Status 404 –".
var leadingStatus = regexp.MustCompile(`(?i)^(?:(?:http|error|status|code)[ :-]+)*(\d{3})\b[ :|–—-]*`)

// plainText returns the words of a part of a page, without its tags.
func plainText(part []byte) string {
	text := html.UnescapeString(string(anyTag.ReplaceAll(part, []byte(" "))))
	return strings.Join(strings.Fields(text), " ")
}
