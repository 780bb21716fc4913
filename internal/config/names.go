package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// nameTargets gives targets without a name or group their defaults. No name depends on the order of targets.
func (l *loader) nameTargets() {
	ports := map[string]string{"http": "80", "https": "443"}
	sharing := map[string]int{} // targets without a name, by host and port
	for _, t := range l.targets {
		if t.Name == "" && t.URL != "" && t.right("NAME") {
			u := t.parsedURL()
			t.Name = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), ports[u.Scheme]))
			sharing[t.Name]++
		}
	}
	for _, t := range l.targets {
		if !t.given("NAME") && sharing[t.Name] > 1 {
			t.Name += cmp.Or(t.Path, strings.TrimSuffix(strings.TrimRight(t.parsedURL().EscapedPath(), "/"), "/v1"))
		}
		if t.Group == "" && !t.EachAddress {
			t.Group = t.Name
		}
	}
}

// validateNames judges the names of targets: each is one target's alone, and not too long.
func (l *loader) validateNames() {
	first := map[string]*target{}
	for _, t := range l.targets {
		other, taken := first[t.Name]
		if !taken {
			first[t.Name] = t
		} else if t.Name != "" {
			text := fmt.Sprintf("the name %s is already taken by %s", quote(t.Name), other.nameLabel("URL"))
			t.misnamed(text)
		}
		limit := maxName
		if t.EachAddress {
			limit -= 40 // an IPv6 address takes 39, and one stands between
		}
		if utf8.RuneCountInString(t.Name) > limit {
			t.misnamed(fmt.Sprintf("results in a name of more than %d characters", limit))
		}
	}
	for _, t := range l.targets {
		stem, address, cut := strings.Cut(t.Name, "/")
		_, err := netip.ParseAddr(address)
		if other, taken := first[stem]; taken && cut && err == nil && other.EachAddress {
			t.misnamed("is the name that an address of " + other.nameLabel("URL") + " gets")
		}
	}
}

// misnamed reports what is wrong with the name of t, and how to give it another one.
func (t *target) misnamed(text string) { t.problems.Add(t.nameLabel("URL"), text, t.naming) }
