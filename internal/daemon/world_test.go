package daemon

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/memconn"
	"github.com/llm-prober/prober/internal/sim"
)

// begin runs d with the configuration that o leads to when it is read, as `prober run` does. It returns what tells d to
// stop, and what also waits for its end, which happens at the end of the test at the latest.
func begin(t *testing.T, d *Daemon, o *config.Options) (stop, end func()) {
	t.Helper()
	d.Load = func(files *engine.Files) (*config.Config, error) { return Load(*o, files) }
	d.Files = engine.NewFiles()
	if d.Config, d.Refused = d.Load(d.Files); d.Refused != nil {
		var ok bool
		if d.Config, ok = Idle(d.Refused, o.Environ, nil); !ok {
			t.Fatal(d.Refused)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- d.Run(ctx)
		close(ended)
	}()
	end = func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	return stop, end
}

// A world is an instance, the simulated servers that it probes, and a client of its HTTP, all in memory and in virtual
// time.
type world struct {
	t         *testing.T
	options   config.Options         // what a reload finds
	servers   map[string]*sim.Server // by host
	requests  sync.Map               // the last one by host, as *http.Request
	fitted    sync.Map               // when the tokenizer was asked last, by host, as time.Time
	loading   sync.Map               // hosts that answer 503 whatever they are asked
	closed    sync.Map               // hosts that refuse connections; those called "late…" do from the start
	client    *http.Client
	host      string // that the client asks for; empty: prober
	logs      *observer.ObservedLogs
	stop, end func() // see begin
}

// newWorld runs d with small settings and more, which are variables and their values. It probes the targets that these
// name, or else the hosts, which are simulated with the profile "fast" and dialled in memory, unless d has a
// Dial of its own. A drain of 0 is a second.
func newWorld(t *testing.T, d *Daemon, hosts []string, more ...string) *world {
	t.Helper()
	w := &world{t: t, options: configured(hosts, more...), servers: map[string]*sim.Server{}}
	listeners := map[string]*memconn.Listener{}
	for _, host := range hosts {
		listeners[host+":80"] = w.simulate(host)
		if strings.HasPrefix(host, "late") {
			w.closed.Store(host, true)
		}
	}
	core, logs := observer.New(zapcore.DebugLevel)
	own := memconn.Listen(1 << 16)
	w.logs, d.Log, d.Listener, d.Drain = logs, zap.New(core), own, cmp.Or(d.Drain, time.Second)
	if d.Dial == nil {
		d.Dial = func(ctx context.Context, _, address string) (net.Conn, error) {
			if _, refuses := w.closed.Load(strings.TrimSuffix(address, ":80")); refuses {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			}
			if listener, ok := listeners[address]; ok {
				return listener.Dial(ctx, "", "")
			}
			return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
		}
	}
	w.client = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       own.Dial,
	}}
	w.stop, w.end = begin(t, d, &w.options)
	synctest.Wait()
	return w
}

// configured is a configuration of short prompts and answers, 85 tokens together, with more variables and their values.
func configured(hosts []string, more ...string) config.Options {
	o := config.Options{Environ: map[string]string{"PROBER_PROMPT_TOKENS": "80", "PROBER_MAX_TOKENS": "5"}}
	for pair := range slices.Chunk(more, 2) {
		o.Environ[pair[0]] = pair[1]
	}
	if o.Environ["PROBER_TARGETS_FILE"] == "" && o.Environ["PROBER_TARGETS_0_URL"] == "" {
		for _, host := range hosts {
			o.URLs = append(o.URLs, "http://"+host)
		}
	}
	return o
}

// simulate starts a server until the end of the test.
func (w *world) simulate(host string) *memconn.Listener {
	profile, err := sim.ParseProfile("fast")
	if err != nil {
		w.t.Fatal(err)
	}
	s := sim.New(sim.Config{Profile: profile, Seed: 1})
	w.servers[host] = s
	listener := memconn.Serve(w.t, http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if _, is := w.loading.Load(host); is {
			http.Error(to, "loading", http.StatusServiceUnavailable)
			return
		}
		w.requests.Store(host, r.Clone(r.Context()))
		if r.URL.Path == "/tokenize" {
			w.fitted.Store(host, time.Now())
		}
		s.ServeHTTP(to, r)
	}))
	w.t.Cleanup(s.Close)
	return listener
}

// fault makes a server fail.
func (w *world) fault(host string, f sim.Fault) {
	w.t.Helper()
	if err := w.servers[host].SetFault(f); err != nil {
		w.t.Fatal(err)
	}
}

// reload makes the instance read another configuration, and returns the answer's status and text.
func (w *world) reload(hosts []string, more ...string) (int, string) {
	w.t.Helper()
	w.options = configured(hosts, more...)
	return w.ask(http.MethodPost, "/-/reload")
}

// mustReload is reload of a configuration that is right.
func (w *world) mustReload(hosts []string, more ...string) {
	w.t.Helper()
	if status, text := w.reload(hosts, more...); status != http.StatusOK {
		w.t.Fatalf("%d %s", status, text)
	}
}

// ask returns the status and the body of an answer of the instance to a request with a header's name and value.
func (w *world) ask(method, path string, header ...string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequest(method, "http://prober"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Host = cmp.Or(w.host, r.Host)
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	response, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func (w *world) get(path string) string {
	w.t.Helper()
	_, body := w.ask(http.MethodGet, path)
	return body
}

// seriesOf returns the value of the first series of a metric that holds all parts; empty if there is none.
func seriesOf(page, name string, parts ...string) string {
	for line := range strings.SplitSeq(page, "\n") {
		if strings.HasPrefix(line, name+"{") && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return line[strings.LastIndex(line, " ")+1:]
		}
	}
	return ""
}

// metric is seriesOf what the instance serves.
func (w *world) metric(name string, parts ...string) string {
	w.t.Helper()
	return seriesOf(w.get("/metrics"), name, parts...)
}

// awaitProbe returns when a probe of a target is in flight: within an interval of ten seconds.
func (w *world) awaitProbe(target string) {
	w.t.Helper()
	for range 100 {
		if w.metric("llm_probe_in_flight", `target="`+target+`"`) == "1" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatalf("no probe of %s is in flight after ten seconds", target)
}

func (w *world) expect(want, name string, parts ...string) {
	w.t.Helper()
	if got := w.metric(name, parts...); got != want {
		w.t.Errorf("%s with %v is %q, want %q", name, parts, got, want)
	}
}

var slot = regexp.MustCompile(`(?m)^llm_probe_(?:probes|skipped)_total\{.*(?:outcome|reason)="(\w+)".*target="([^"]*)"\} ([1-9]\d*)$`)

// slots are what became of the slots of a target by now: outcomes and reasons to skip one, those that there were.
func slots(page, target string) string {
	var all []string
	for _, found := range slot.FindAllStringSubmatch(page, -1) {
		if found[2] == target {
			all = append(all, found[1]+"="+found[3])
		}
	}
	return strings.Join(all, " ")
}

func (w *world) expectSlots(target, want string) {
	w.t.Helper()
	if got := slots(w.get("/metrics"), target); got != want {
		w.t.Errorf("slots of %s: %q, want %q", target, got, want)
	}
}

// expectPage expects that a page shows a text, or does not.
func (w *world) expectPage(path, text string, shown bool) {
	w.t.Helper()
	if strings.Contains(w.get(path), text) != shown {
		w.t.Errorf("%s shows %q: %t", path, text, !shown)
	}
}

// expectText expects a line of /metrics.
func (w *world) expectText(line string) {
	w.t.Helper()
	w.expectPage("/metrics", line+"\n", true)
}

// expectReady expects what /-/ready answers: Ready, or not Ready.
func (w *world) expectReady(want string) {
	w.t.Helper()
	if text := w.get("/-/ready"); text != "Prober is "+want+".\n" {
		w.t.Errorf("ready: %q", text)
	}
}

// expectLogged expects how often a message was logged.
func (w *world) expectLogged(times int, message string) {
	w.t.Helper()
	if n := w.logs.FilterMessage(message).Len(); n != times {
		w.t.Errorf("%q was logged %d times, want %d", message, n, times)
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
