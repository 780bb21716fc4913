package test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A mount is a directory as the kubelet mounts a ConfigMap or a Secret: files are
// links into ..data, a link to a directory that is replaced as a whole.
type mount struct {
	path  string
	swaps int
}

func newMount(t *testing.T, files map[string]string) *mount {
	t.Helper()
	m := &mount{path: t.TempDir()}
	m.swap(t, files)
	for name := range files {
		must(t, os.Symlink(filepath.Join("..data", name), filepath.Join(m.path, name)))
	}
	return m
}

// swap replaces all files at once.
func (m *mount) swap(t *testing.T, files map[string]string) {
	t.Helper()
	m.swaps++
	data, next := filepath.Join(m.path, "..data"), fmt.Sprintf("..2026_%d", m.swaps)
	old, _ := os.Readlink(data)
	must(t, os.Mkdir(filepath.Join(m.path, next), 0o755))
	for name, content := range files {
		must(t, os.WriteFile(filepath.Join(m.path, next, name), []byte(content), 0o600))
	}
	must(t, os.Symlink(next, data+"_tmp"))
	must(t, os.Rename(data+"_tmp", data))
	if old != "" {
		must(t, os.RemoveAll(filepath.Join(m.path, old)))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fleet is a targets file of 200 targets at one server. Each one's settings are
// those that its number gets; "-" leaves it out.
func fleet(url, head string, settings func(n int) string) map[string]string {
	var b strings.Builder
	b.WriteString(head + "\ntargets:\n")
	for n := range 200 {
		if given := settings(n); given != "-" {
			fmt.Fprintf(&b, "- {name: t%03d, url: \"%s\"%s}\n", n, url, given)
		}
	}
	return map[string]string{"targets.yaml": b.String()}
}

// samples are the series of a metric by target, summed.
func samples(t *testing.T, base, metric string) map[string]float64 {
	t.Helper()
	page, _ := get(t, base+"metrics", "text/plain")
	sums, target := map[string]float64{}, regexp.MustCompile(`target="([^"]*)"`)
	for line := range strings.Lines(page) {
		name, rest, _ := strings.Cut(line, "{")
		if plain, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && plain == metric {
			sums[""], _ = strconv.ParseFloat(value, 64)
		}
		if found := target.FindStringSubmatch(rest); name == metric && found != nil {
			value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndex(rest, " "):]), 64)
			must(t, err)
			sums[found[1]] += value
		}
	}
	return sums
}

// TestReloadUnderLoad swaps the mount of the targets file, as the kubelet does,
// while 200 targets are probed: 100 change, 50 go, 50 stay. The prober takes it up
// by itself, no series of what stays is reset, every probe goes well, and in
// the end no target has left a goroutine.
func TestReloadUnderLoad(t *testing.T) {
	url := start(t, nil, "simulate", "--profile", "fast", "--listen", "127.0.0.1:0").after(t, "fast")
	const goal = "\nobjectives: [{signal: availability, goal: 0.9}]" // as far as the lower rate can tell
	const idle, busy = "qps: 0.001" + goal, "qps: 0.5" + goal
	same := func(int) string { return "" }
	m := newMount(t, fleet(url, idle, same))
	p := start(t, []string{"PROBER_RELOAD_INTERVAL=200ms"}, "run", "--targets-file", filepath.Join(m.path, "targets.yaml"),
		"--listen-address", "127.0.0.1:0", "--log-format", "json", "--prompt-tokens", "100", "--max-tokens", "10")
	base := p.listening(t)
	goroutines := func() float64 { return samples(t, base, "go_goroutines")[""] }
	eventually(t, "200 targets", func() bool { return len(samples(t, base, "llm_probe_interval_seconds")) == 200 })

	first, looks := goroutines(), 0
	eventually(t, "goroutines that get no fewer", func() bool { // while prompts are fitted there are more
		now := goroutines()
		if looks++; now < first {
			first, looks = now, 0
		}
		return looks == 10
	})
	t.Logf("%v goroutines", first)
	if first < 200 {
		t.Fatal("there are fewer goroutines than targets: the test does not see them")
	}

	m.swap(t, fleet(url, busy, same))
	eventually(t, "probes of all", func() bool { return least(samples(t, base, "llm_probe_probes_total")) >= 2 })
	before := samples(t, base, "llm_probe_probes_total")
	m.swap(t, fleet(url, busy, func(n int) string { return []string{"", ", timeout: 100s", ", max_tokens: 11", "-"}[n%4] }))
	eventually(t, "the end of 50 targets", func() bool { return len(samples(t, base, "llm_probe_probes_total")) == 150 })
	eventually(t, "more probes of the others", func() bool {
		now := samples(t, base, "llm_probe_probes_total")
		more := true
		for target, n := range now {
			if n < before[target] {
				t.Fatalf("%s had %v probes and has %v", target, before[target], n)
			}
			more = more && n >= before[target]+2
		}
		return more
	})
	page, _ := get(t, base+"metrics", "text/plain")
	if bad := regexp.MustCompile(`(?m)^llm_probe_probes_total\{.*outcome="[^o][^"]*".* [1-9].*$`).FindString(page); bad != "" {
		t.Error(bad)
	}

	m.swap(t, fleet(url, idle, same))
	eventually(t, "200 targets", func() bool { return len(samples(t, base, "llm_probe_probes_total")) == 200 })
	// One for each target that went is the smallest leak there can be. A scrape has
	// a few of its own, now more and now fewer.
	eventually(t, fmt.Sprintf("about %v goroutines", first), func() bool { return goroutines() < first+50 })
	if code := p.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func least(values map[string]float64) float64 {
	low := 1e9
	for _, v := range values {
		low = min(low, v)
	}
	return low
}

// TestAKeyIsRotated swaps the mount of a Secret.
func TestAKeyIsRotated(t *testing.T) {
	url := start(t, nil, "simulate", "--profile", "fast", "--api-key", "sk-new", "--listen", "127.0.0.1:0").after(t, "fast")
	m := newMount(t, map[string]string{"key": "sk-old\n"})
	base := start(t, []string{"PROBER_RELOAD_INTERVAL=200ms"}, "run", url, "--name", "a", "--api-key-file", filepath.Join(m.path, "key"), "--qps", "2",
		"--listen-address", "127.0.0.1:0", "--log-format", "json", "--prompt-tokens", "100", "--max-tokens", "10").listening(t)
	outcome := func(want string) func() bool {
		return func() bool { all := results(t, base); return len(all) > 0 && all[0].Outcome == want }
	}
	eventually(t, "a probe with the old key", outcome("rejected"))
	m.swap(t, map[string]string{"key": "sk-new\n"})
	eventually(t, "a probe with the new key", outcome("ok"))
}
