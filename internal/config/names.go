package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// name gives targets without one their names, and judges all names: each is one target's alone, and not too long.
func (l *loader) name(targets []entry) {
	defaultNames(targets)
	first := map[string]entry{}
	for _, t := range targets {
		if other, taken := first[t.Name]; taken {
			l.sameName(other, t)
		} else if t.Name != "" {
			first[t.Name] = t
		}
		limit := maxName
		if t.EachAddress {
			limit -= 40 // an IPv6 address takes 39, and one stands between
		}
		if utf8.RuneCountInString(t.Name) > limit {
			l.misnamed(t, fmt.Sprintf("results in a name of more than %d characters", limit))
		}
	}
	for _, t := range targets {
		stem, address, cut := strings.Cut(t.Name, "/")
		other, taken := first[stem]
		if _, err := netip.ParseAddr(address); cut && taken && err == nil && other.EachAddress {
			l.misnamed(t, "is the name that an address of "+other.nameLabel("URL")+" gets")
		}
	}
}

// defaultNames gives targets without a name or group their defaults. No name depends on the order of targets.
func defaultNames(targets []entry) {
	ports := map[string]string{"http": "80", "https": "443"}
	sharing := map[string]int{} // targets without a name, by host and port
	for _, t := range targets {
		if t.Name == "" && t.URL != "" && t.right("NAME") {
			u := t.parsed()
			t.Name = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), ports[u.Scheme]))
			sharing[t.Name]++
		}
	}
	for _, t := range targets {
		if !t.given("NAME") && sharing[t.Name] > 1 {
			t.Name += cmp.Or(t.Path, strings.TrimSuffix(strings.TrimRight(t.parsed().EscapedPath(), "/"), "/v1"))
		}
		if t.Group == "" && !t.EachAddress {
			t.Group = t.Name
		}
	}
}

// sameName reports two targets of one name.
func (l *loader) sameName(other, t entry) {
	before, after := other.own.lines["NAME"], t.own.lines["NAME"]
	if before > 0 && after > 0 && other.given("NAME") && t.given("NAME") {
		file, _, _ := strings.Cut(t.own.place("NAME"), fmt.Sprintf(":%d: ", after))
		l.problem(file, fmt.Sprintf("lines %d and %d both name a target %s", before, after, quote(t.Name)), "rename one")
		return
	}
	l.misnamed(t, fmt.Sprintf("the name %s is already taken by %s", quote(t.Name), other.nameLabel("URL")))
}

// misnamed reports what is wrong with the name of t, and how to give it another one.
func (l *loader) misnamed(t entry, text string) {
	hint := "set " + t.setting("NAME")
	if t.own.lines != nil {
		hint = "give it a name of its own (name: …)"
	}
	if len(l.URLs) > 0 {
		hint = "give it as NAME=URL"
	}
	l.problem(t.nameLabel("URL"), text, hint)
}
