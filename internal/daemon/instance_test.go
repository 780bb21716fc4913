package daemon

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/testing/exposition"
	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

// An instance is a daemon that runs, in memory, and a client of its HTTP.
type instance struct {
	t       *testing.T
	options config.Options // what a reload finds
	dial    probe.Dial     // reaches its HTTP server
	client  *http.Client   // uses dial
	logs    *observer.ObservedLogs
	stop    context.CancelFunc
	wait    func() error // for the end; it returns the error of Run
	fails   error        // that Run is expected to end with; nil: none
}

// start runs d until the end of the test, with the settings of configured. It probes the targets that these name, or
// else all hosts of the network. A drain of 0 is a second.
func start(t *testing.T, servers *simnet.Network, d *Daemon, settings ...string) *instance {
	t.Helper()
	listener := memconn.Listen(memconn.Buffer)
	d.Listener = listener
	if d.Dial == nil {
		d.Dial = servers.Dial
	}
	i := run(t, d, configured(servers.Hosts(), settings...))
	i.dial = listener.Dial
	i.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: i.dial}}
	synctest.Wait()
	return i
}

// run runs d on its listener until the end of the test, with the configuration that the options lead to.
func run(t *testing.T, d *Daemon, options config.Options) *instance {
	t.Helper()
	i := &instance{t: t, options: options}
	core, logs := observer.New(zapcore.DebugLevel)
	i.logs = logs
	d.Log = zap.New(core)
	d.Grace = cmp.Or(d.Grace, time.Second)
	d.Load = func(f *files.Files) (*config.Config, error) { return Load(i.options, f) }
	d.Files = files.New()
	d.Config, d.Refused = d.Load(d.Files)
	if d.Refused != nil {
		var ok bool
		d.Config, ok = LoadIdle(d.Refused, options.Environ, nil)
		if !ok {
			t.Fatal(d.Refused)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	i.stop = stop
	i.wait = sync.OnceValue(func() error { return <-ended })
	t.Cleanup(i.end)
	return i
}

// end stops the instance and waits for its end.
func (i *instance) end() {
	i.t.Helper()
	i.stop()
	if err := i.wait(); !errors.Is(err, i.fails) {
		i.t.Errorf("the instance ended with %v, want %v", err, i.fails)
	}
}

// configured returns a configuration of short prompts and answers, 85 tokens together, and more settings: variables and
// their values. Unless these name targets, it has the hosts.
func configured(hosts []string, settings ...string) config.Options {
	o := config.Options{Environ: map[string]string{"PROBER_PROMPT_TOKENS": "80", "PROBER_MAX_TOKENS": "5"}}
	for pair := range slices.Chunk(settings, 2) {
		o.Environ[pair[0]] = pair[1]
	}
	environ := o.Environ
	if environ["PROBER_TARGETS_FILE"]+environ["PROBER_TARGETS_0_URL"]+environ["PROBER_HTTP_SD_0_URL"] == "" {
		for _, host := range hosts {
			o.URLs = append(o.URLs, "http://"+host)
		}
	}
	return o
}

// mustReload makes the instance read another configuration, which is valid.
func (i *instance) mustReload(hosts []string, settings ...string) {
	i.t.Helper()
	i.options = configured(hosts, settings...)
	if status, text := i.ask(http.MethodPost, "/-/reload"); status != http.StatusOK {
		i.t.Fatalf("%d %s", status, text)
	}
}

// ask returns the status and the body of an answer of the instance, once all that the request led to has been done: a
// reload, for example, answers before the targets that it ends are forgotten. Header is names and values.
func (i *instance) ask(method, path string, header ...string) (status int, body string) {
	i.t.Helper()
	r, err := http.NewRequestWithContext(i.t.Context(), method, "http://prober"+path, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	response, err := i.client.Do(r)
	if err != nil {
		i.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		i.t.Fatal(err)
	}
	synctest.Wait()
	return response.StatusCode, string(data)
}

func (i *instance) get(path string) string {
	i.t.Helper()
	_, body := i.ask(http.MethodGet, path)
	return body
}

// metric returns what the instance serves for a selector.
func (i *instance) metric(selector string) (value float64, ok bool) {
	i.t.Helper()
	return exposition.Value(i.get("/metrics"), selector)
}

// expectMetrics expects the values of selectors.
func (i *instance) expectMetrics(want map[string]float64) {
	i.t.Helper()
	page := i.get("/metrics")
	got := map[string]float64{}
	for selector := range want {
		value, ok := exposition.Value(page, selector)
		if ok {
			got[selector] = value
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		i.t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// expectLastReload expects whether the configuration that was read last is in force.
func (i *instance) expectLastReload(successful bool) {
	i.t.Helper()
	want := map[bool]float64{false: 0, true: 1}
	i.expectMetrics(map[string]float64{"llm_prober_config_last_reload_successful": want[successful]})
}

func (i *instance) expectSlots(target, want string) {
	i.t.Helper()
	if got := exposition.Slots(i.get("/metrics"))[target]; got != want {
		i.t.Errorf("slots of %s: %q, want %q", target, got, want)
	}
}

// expectTargets expects the names of the targets that have series, sorted.
func (i *instance) expectTargets(want ...string) {
	i.t.Helper()
	if diff := gocmp.Diff(want, exposition.Targets(i.get("/metrics"))); diff != "" {
		i.t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// awaitProbe returns when a probe of a target is in flight: within an interval of ten seconds.
func (i *instance) awaitProbe(target string) {
	i.t.Helper()
	for range 100 {
		inFlight, _ := i.metric(`llm_probe_in_flight{target="` + target + `"}`)
		if inFlight == 1 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	i.t.Fatalf("no probe of %s is in flight after ten seconds", target)
}

func (i *instance) expectShown(path, text string) {
	i.t.Helper()
	if page := i.get(path); !strings.Contains(page, text) {
		i.t.Errorf("%s does not show %q:\n%s", path, text, page)
	}
}

func (i *instance) expectNotShown(path, text string) {
	i.t.Helper()
	if strings.Contains(i.get(path), text) {
		i.t.Errorf("%s shows %q", path, text)
	}
}

func (i *instance) expectReady(want bool) {
	i.t.Helper()
	text := map[bool]string{true: "Prober is Ready.\n", false: "Prober is not Ready.\n"}
	if got := i.get("/-/ready"); got != text[want] {
		i.t.Errorf("/-/ready: %q, want %q", got, text[want])
	}
}

// expectLogged expects how often a message was logged.
func (i *instance) expectLogged(times int, message string) {
	i.t.Helper()
	if n := i.logs.FilterMessage(message).Len(); n != times {
		i.t.Errorf("%q was logged %d times, want %d", message, n, times)
	}
}

func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// expectLastRequest expects the host that a server was asked for last, and the key of that request.
func expectLastRequest(t *testing.T, servers *simnet.Network, name, wantHost, wantKey string) {
	t.Helper()
	last, ok := servers.LastRequest(name)
	if !ok || last.Host != wantHost || last.Header.Get("Authorization") != wantKey {
		t.Errorf("the last request to %s: %+v, want one for %s with %q", name, last, wantHost, wantKey)
	}
}
