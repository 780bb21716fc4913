package config

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listed is a configuration that declares the labels team and region, and has one source and one target.
const listed = `
labels: {team: none}
api_key: sk-shared
qps: 0.5
prompts: [{name: short, prompt_tokens: 80}, {name: long}]
http_sd: [{url: "http://me:sk-hidden@sd/list?key=sk-hidden"}]
targets: [{name: one, url: http://one, labels: {region: eu}}]
`

// TestListed holds what an address of a list is as a target.
func TestListed(t *testing.T) {
	c := load(t, withFile(listed))
	for _, test := range []struct {
		address, labels     string
		name, url, problems string // if it cannot be a target: a part of its problems
		want                Labels
		dropped             string
	}{
		{address: "10.0.0.1:8000", url: "http://10.0.0.1:8000"},
		{address: "[fd00::1]:8000", url: "http://[fd00::1]:8000"},
		{address: "vllm.example.com", url: "http://vllm.example.com"},
		{address: "a:443", labels: "__scheme__=https", url: "https://a:443"},
		{address: "http://a/base/v1", labels: "__scheme__=https", url: "http://a/base/v1"},
		{address: "http://a/v1/chat/completions", url: "http://a/v1"},
		{
			address: "a:1", labels: "team=search,owner=x,__meta_rack=r,__metrics_path__=/m,region=us", url: "http://a:1",
			want: Labels{"team": "search", "region": "us"}, dropped: "__meta_rack __metrics_path__ owner",
		},
		{address: "a:1", labels: "team=", url: "http://a:1", want: Labels{"team": ""}},
		{address: "", name: "(empty)", problems: "not an http or https URL"},
		{address: "a:port", problems: "not an http or https URL"},
		{address: "a:0", problems: "the port must be 1 to 65535"},
		{address: "a:1", labels: "__scheme__=ftp", problems: "not an http or https URL"},
		{address: "dns+http://a", problems: "has dns+ before it"},
		{address: "http://me:sk-hidden@a", name: "http://***@a", problems: "has credentials in it"},
		{address: "me:sk-hidden@a:1", name: "***@a:1", problems: "has credentials in it"},
		{address: "http://a/v1?key=me@sk-hidden", name: "http://***", problems: "has a query or a fragment"},
		{address: "http://a/v1?sk-hidden", name: "http://a/v1?***", problems: "has a query or a fragment"},
		{address: "a\x1b[2J:1", name: "a:1", problems: "not an http or https URL"},
		{
			address: strings.Repeat("a", 101), name: strings.Repeat("a", 99) + "…",
			problems: "not 1 to 100 printable characters",
		},
		{
			address: "a:1", labels: "team=" + strings.Repeat("x", 201), want: Labels{"team": "none"},
			problems: `the value of "team" has 201 bytes; want at most 200`,
		},
	} {
		labels := map[string]string{}
		for pair := range strings.SplitSeq(test.labels, ",") {
			name, value, isPair := strings.Cut(pair, "=")
			if isPair {
				labels[name] = value
			}
		}
		got, dropped, problems := c.Listed(c.HTTPSD[0], test.address, labels)
		if test.name == "" {
			test.name = test.address
		}
		want := Labels{"team": "none"}
		maps.Copy(want, test.want)
		if test.problems == "" != (problems == nil) || !strings.Contains(problems.Error(), test.problems) {
			t.Errorf("%q: the problems are %v, want %q", test.address, problems, test.problems)
		}
		if got.Name != test.name || got.URL != test.url || strings.Join(dropped, " ") != test.dropped {
			t.Errorf("%q is %q at %q and drops %q", test.address, got.Name, got.URL, dropped)
		}
		if diff := cmp.Diff(want, got.Labels); diff != "" {
			t.Errorf("%q: labels (-want +got):\n%s", test.address, diff)
		}
		isShared := got.QPS == 0.5 && got.APIKey.Reveal() == "sk-shared" && len(got.Prompts) == 2
		if problems == nil && (!isShared || got.Group != test.name) {
			t.Errorf("%q has other settings than the shared ones: %+v", test.address, got)
		}
		if strings.Contains(fmt.Sprint(problems, got.Name), "hidden") {
			t.Errorf("%q shows a secret: %v", test.address, problems)
		}
	}
	if diff := cmp.Diff(Labels{"team": "none"}, c.Shared.Labels); diff != "" {
		t.Errorf("what one target has all of them have (-want +got):\n%s", diff)
	}
}

// FuzzListed holds that an address is either a target that keeps the promises of all others, or has problems, each on
// one line, and that nothing shows what may be its credentials.
func FuzzListed(f *testing.F) {
	f.Add("10.0.0.1:8000", "team", "search")
	f.Add("http://me@a/v1?b#c", "__scheme__", "https")
	f.Add("dns+a:1", "__scheme__", "dns+http")
	f.Add("a/\u202e:1", "region", "\n")
	f.Fuzz(func(t *testing.T, address, name, value string) {
		const secret = "sk-f0rb1dden"
		c := load(t, withFile(listed))
		before := fmt.Sprintf("%+v", c)
		for _, address := range []string{address, "http://me:" + secret + "@" + address} {
			target, _, problems := c.Listed(c.HTTPSD[0], address, map[string]string{name: value})
			if problems == nil {
				promises(t, target, c)
			}
			text := problems.Error()
			isSpread := problems != nil && strings.Count(text, "\n") != len(problems)
			if isSpread || strings.Contains(text+target.Name, secret) || target.Name == "" || !printable(target.Name) {
				t.Errorf("%q is %q: %s", address, target.Name, text)
			}
		}
		if after := fmt.Sprintf("%+v", c); after != before {
			t.Errorf("the configuration has changed from\n%s\nto\n%s", before, after)
		}
	})
}

// TestSources holds which configurations have sources, and what becomes of one that is wrong.
func TestSources(t *testing.T) {
	const source = "HTTP_SD_0_URL=http://sd/a?key=sk-hidden"
	for _, test := range []struct {
		name              string
		options           Options
		targets, rejected string
		sources           string
	}{
		{name: "no target", options: Options{Environ: environ(source)}, sources: "http://sd/a?*** 1m0s"},
		{
			name:    "variables before the file",
			options: withFile("http_sd: [{url: http://sd/b, refresh: 5s}]\ntargets: [{url: http://one}]", source),
			targets: "one:80", sources: "http://sd/a?*** 1m0s, http://sd/b 5s",
		},
		{
			name:    "a URL as an argument replaces them",
			options: Options{Environ: environ(source, "TARGETS_0_URL=http://one"), URLs: []string{"http://two"}},
			targets: "two:80",
		},
		{
			name:    "a source that is wrong",
			options: Options{Environ: environ(source, "HTTP_SD_1_URL=sd")},
			sources: "http://sd/a?*** 1m0s", rejected: "PROBER_HTTP_SD_1",
		},
		{
			name: "shared settings that are wrong for what has no others",
			options: Options{
				Environ: environ(source, "PROMPT=dataset", "TARGETS_0_URL=http://one", "TARGETS_0_PROMPT=cold"),
			},
			targets: "one:80", rejected: "each of http_sd",
		},
		{
			name: "a finite run leaves out what is disabled",
			options: Options{
				Environ: environ(source, "TARGETS_0_URL=http://one"), Finite: true, URLs: []string{"http://one"},
			},
			targets: "one:80",
		},
	} {
		c := load(t, test.options)
		var targets, rejected, sources []string
		for _, target := range c.Targets {
			targets = append(targets, target.Name)
		}
		for _, r := range c.Rejected {
			rejected = append(rejected, r.Name)
		}
		for _, s := range c.HTTPSD {
			sources = append(sources, fmt.Sprintf("%v %v", s.URL, s.Refresh))
		}
		got := fmt.Sprintf("%q %q %q", targets, rejected, sources)
		want := fmt.Sprintf("%q %q %q", split(test.targets), split(test.rejected), split(test.sources))
		if got != want {
			t.Errorf("%s: got %s, want %s", test.name, got, want)
		}
		if text := fmt.Sprintf("%v %+v", c.HTTPSD, c.HTTPSD); strings.Contains(text, "hidden") {
			t.Errorf("%s: prints %s", test.name, text)
		}
	}
	all := "all targets are disabled"
	_, err := Load(Options{Environ: environ(source), Overrides: map[string]string{"ENABLED": "off"}, Finite: true})
	if err == nil || !strings.Contains(err.Error(), all) {
		t.Errorf("got %v, want %s", err, all)
	}
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ", ")
}

// TestEachSourceCountsOnce holds that a source costs as much as one target: nobody knows yet how many it lists.
func TestEachSourceCountsOnce(t *testing.T) {
	for limit, want := range map[int]string{
		3 * 18_230_400:   "",
		3*18_230_400 - 1: `the targets cost 54,691,200 tokens a day, of which "each of http_sd" costs the most`,
	} {
		_, err := Load(Options{Environ: withTarget("HTTP_SD_0_URL=http://sd/a\nHTTP_SD_1_URL=http://sd/b\nQPS=0.01",
			fmt.Sprintf("MAX_TOKENS_PER_DAY=%d", limit))})
		if got := fmt.Sprint(err); err == nil != (want == "") || !strings.Contains(got, want) {
			t.Errorf("limit %d: %v, want %q", limit, err, want)
		}
	}
}

// TestSourcesAreShown holds that people see sources without their credentials, and the settings of what they list.
func TestSourcesAreShown(t *testing.T) {
	text, _, err := Effective(withFile(listed))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nhttp_sd:\n  - url: http://***@sd/list?***", "\n    refresh: 1m0s\n", "\neach of http_sd:\n  name: each of http_sd\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Count(text, "url: ") != 2 || strings.Contains(text, "hidden") {
		t.Errorf("shows more URLs than two, or a secret:\n%s", text)
	}
}
