package daemon

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
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
	"github.com/llm-prober/prober/internal/discovery"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/sim"
)

// A world is an instance, the simulated servers that it probes, and a client of its HTTP, all in memory and in virtual
// time.
type world struct {
	t       *testing.T
	servers map[string]*sim.Server // by host
	headers sync.Map               // of the last request by host, as http.Header
	hosts   sync.Map               // that the last request named, by host
	fitted  sync.Map               // when the tokenizer was asked last, by host, as time.Time
	loading sync.Map               // hosts that answer 503 whatever they are asked
	closed  sync.Map               // hosts that refuse connections; those called "late…" do from the start
	client  *http.Client
	logs    *observer.ObservedLogs
	stop    context.CancelFunc
	ended   chan error
	load    func(assets *engine.Assets) (*config.Config, error) // what a reload finds
}

// newWorld starts an instance that probes as environ says: the targets that it names, or else the hosts. Hosts are
// simulated with the profile "fast".
func newWorld(t *testing.T, drain time.Duration, hosts []string, environ map[string]string) *world {
	t.Helper()
	options := config.Options{Environ: environ}
	if environ["PROBER_TARGETS_FILE"] == "" && environ["PROBER_TARGETS_0_URL"] == "" {
		options.URLs = urls(hosts)
	}
	return newWorldOf(t, drain, hosts, options, nil)
}

// newWorldOf is newWorld with a whole configuration, which a reload reads again, and a name server.
func newWorldOf(t *testing.T, drain time.Duration, hosts []string, options config.Options, lookup discovery.Lookup) *world {
	t.Helper()
	w := &world{t: t, servers: map[string]*sim.Server{}, ended: make(chan error, 1)}
	listeners := map[string]*sim.Listener{}
	for _, host := range hosts {
		listeners[host+":80"] = w.simulate(host)
		if strings.HasPrefix(host, "late") {
			w.closed.Store(host+":80", true)
		}
	}
	core, logs := observer.New(zapcore.DebugLevel)
	w.logs = logs
	w.load = func(assets *engine.Assets) (*config.Config, error) { return Load(options, assets) }
	own := sim.NewListener()
	d := &Daemon{
		Listener: own, Drain: drain, Log: zap.New(core), Lookup: lookup,
		Load: func(assets *engine.Assets) (*config.Config, error) { return w.load(assets) },
		Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
			if _, refuses := w.closed.Load(address); refuses {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			}
			if listener, ok := listeners[address]; ok {
				return listener.Dial(ctx)
			}
			return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
		},
	}
	configure(t, d, options.Environ)
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	w.client = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return own.Dial(ctx) },
	}}
	go func() {
		w.ended <- d.Run(ctx)
		close(w.ended)
	}()
	t.Cleanup(w.end)
	synctest.Wait()
	return w
}

// configure makes d work by what it loads, as `prober run` does.
func configure(t *testing.T, d *Daemon, environ map[string]string) {
	t.Helper()
	d.Files = NewFiles()
	d.Assets = engine.NewAssets(d.Files.Read)
	if d.Config, d.Refused = d.Load(d.Assets); d.Refused != nil {
		var ok bool
		if d.Config, ok = Idle(d.Refused, environ, nil); !ok {
			t.Fatal(d.Refused)
		}
	}
}

func urls(hosts []string) []string {
	var list []string
	for _, host := range hosts {
		list = append(list, "http://"+host)
	}
	return list
}

// simulate starts a server until the end of the test.
func (w *world) simulate(host string) *sim.Listener {
	profile, err := sim.ParseProfile("fast")
	if err != nil {
		w.t.Fatal(err)
	}
	s, listener := sim.New(sim.Config{Profile: profile, Seed: 1}), sim.NewListener()
	server := &http.Server{Handler: http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if _, is := w.loading.Load(host); is {
			http.Error(to, "loading", http.StatusServiceUnavailable)
			return
		}
		w.headers.Store(host, r.Header.Clone())
		w.hosts.Store(host, r.Host)
		if r.URL.Path == "/tokenize" {
			w.fitted.Store(host, time.Now())
		}
		s.ServeHTTP(to, r)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	w.servers[host] = s
	w.t.Cleanup(func() {
		s.Close()
		_ = server.Close()
		serving.Wait()
		time.Sleep(time.Second) // virtual: net/http lingers on bodies that were not read
	})
	return listener
}

// get returns the body of a path of the instance.
func (w *world) get(path string) string {
	w.t.Helper()
	_, body := w.answer(w.client.Get("http://prober" + path))
	return body
}

// post returns the status and the body of an answer to a POST.
func (w *world) post(path string) (int, string) {
	w.t.Helper()
	return w.answer(w.client.Post("http://prober"+path, "", nil))
}

func (w *world) answer(response *http.Response, err error) (int, string) {
	w.t.Helper()
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

// metric is seriesOf what the instance serves.
func (w *world) metric(name string, parts ...string) string {
	w.t.Helper()
	return seriesOf(w.get("/metrics"), name, parts...)
}

// seriesOf returns the value of the first series of a metric that holds all parts.
func seriesOf(page, name string, parts ...string) string {
	for line := range strings.SplitSeq(page, "\n") {
		if !strings.HasPrefix(line, name+"{") {
			continue
		}
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return line[strings.LastIndex(line, " ")+1:]
		}
	}
	return ""
}

// end stops the instance and waits for its end. Every test does so in the end.
func (w *world) end() {
	w.t.Helper()
	w.stop()
	if err := <-w.ended; err != nil {
		w.t.Error(err)
	}
}

// expectText expects a line of /metrics.
func (w *world) expectText(line string) {
	w.t.Helper()
	if !strings.Contains(w.get("/metrics"), line+"\n") {
		w.t.Errorf("no line %q", line)
	}
}

// expectReady expects what /-/ready answers: Ready, or not Ready.
func (w *world) expectReady(want string) {
	w.t.Helper()
	if text := w.get("/-/ready"); text != "Prober is "+want+".\n" {
		w.t.Errorf("ready: %q", text)
	}
}

// logged is how often a message was logged.
func (w *world) logged(message string) int { return w.logs.FilterMessage(message).Len() }

func (w *world) expect(want, name string, parts ...string) {
	w.t.Helper()
	if got := w.metric(name, parts...); got != want {
		w.t.Errorf("%s with %v is %q, want %q", name, parts, got, want)
	}
}

// small is a configuration of short prompts and answers, with more variables and their values.
func small(more ...string) map[string]string {
	environ := map[string]string{"PROBER_PROMPT_TOKENS": "80", "PROBER_MAX_TOKENS": "20"}
	for pair := range slices.Chunk(more, 2) {
		environ[pair[0]] = pair[1]
	}
	return environ
}

// fault makes a server fail.
func (w *world) fault(host string, f sim.Fault) {
	w.t.Helper()
	if err := w.servers[host].SetFault(f); err != nil {
		w.t.Fatal(err)
	}
}

// TestInstanceMeasuresTheTruth holds that what the simulator wrote down is what the metrics say.
func TestInstanceMeasuresTheTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"a", "b"}, small())
		time.Sleep(10 * time.Minute)
		for _, host := range []string{"a", "b"} {
			sent := w.servers[host].Sent()
			if len(sent) != 60 {
				t.Errorf("%s was asked %d times in ten minutes", host, len(sent))
			}
			target := `target="` + host + `:80"`
			w.expect("60", "llm_probe_probes_total", target, `outcome="ok"`)
			w.expect("60", "llm_probe_ttft_seconds_count", target)
			w.expect("1140", "llm_probe_itl_seconds_count", target)
			w.expect("1200", "llm_probe_tokens_total", target, `kind="output"`)
			w.expect("4800", "llm_probe_tokens_total", target, `kind="prompt"`)
			w.expect("0", "llm_probe_skipped_total", target, `reason="overlap"`)
			var first time.Duration
			for _, s := range sent {
				first += s.Frames[0].At.Sub(s.Start)
			}
			checkSum(t, w.metric("llm_probe_ttft_seconds_sum", target), first)
		}
		w.expect("120", "llm_prober_schedule_delay_seconds_bucket", `le="0.0005"`)
		if n := w.logged("status page"); n != 1 {
			t.Errorf("%d times told where the page is", n)
		}
	})
}

// checkSum compares a sum of seconds with durations, to the nanosecond of each.
func checkSum(t *testing.T, text string, want time.Duration) {
	t.Helper()
	got, err := time.ParseDuration(text + "s")
	if err != nil || (got-want).Abs() > time.Microsecond {
		t.Errorf("sum %s, the server says %v (%v)", text, want, err)
	}
}

// TestInstanceCountsWhatAHangingServerCosts holds that a server that never answers is a timeout at its limit, and its
// slots are skipped and counted, while the other target is probed as before.
func TestInstanceCountsWhatAHangingServerCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"a", "b"}, small("PROBER_TIMEOUT", "115s"))
		time.Sleep(time.Minute)
		w.fault("a", sim.Fault{Hang: true})
		time.Sleep(time.Minute)
		if inFlight := w.metric("llm_probe_oldest_in_flight_seconds", `target="a:80"`); inFlight < "4" || inFlight > "6" {
			t.Errorf("oldest in flight for %s s after a minute", inFlight)
		}
		time.Sleep(9 * time.Minute)
		w.expect("5", "llm_probe_probes_total", `target="a:80"`, `outcome="timeout"`)
		w.expect("55", "llm_probe_skipped_total", `target="a:80"`, `reason="overlap"`)
		w.expect("66", "llm_probe_probes_total", `target="b:80"`, `outcome="ok"`)
		w.expect("575", "llm_probe_failed_seconds_sum", `target="a:80"`, `outcome="timeout"`)
		w.expect("6", "llm_probe_ttft_seconds_count", `target="a:80"`)
	})
}

// TestInstanceStopsDuringAProbe holds that nothing is left behind: a probe that ends within the drain is counted, one
// that does not is not, and /metrics answers all the while. A goroutine that is left fails the bubble.
func TestInstanceStopsDuringAProbe(t *testing.T) {
	slow := map[string]string{"PROBER_PROMPT_TOKENS": "80", "PROBER_MAX_TOKENS": "4000", "PROBER_QPS": "0.1"}
	for name, test := range map[string]struct {
		drain time.Duration
		want  int
	}{
		"the probe ends in time": {5 * time.Second, 1},
		"the probe is dropped":   {time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, test.drain, []string{"a"}, slow)
				for w.metric("llm_probe_in_flight", `target="a:80"`) != "1" {
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(500 * time.Millisecond)
				w.stop()
				synctest.Wait()
				stopped := time.Now()
				w.expect("1", "llm_probe_in_flight", `target="a:80"`)
				w.expectReady("not Ready")
				time.Sleep(test.drain / 2) // the probe takes four seconds, and is still under way
				w.expect("0", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
				w.end()
				if took := time.Since(stopped); took > test.drain {
					t.Errorf("took %v", took)
				}
				if counted := w.logs.FilterMessage("probe").Len(); counted != test.want {
					t.Errorf("%d probes counted, want %d", counted, test.want)
				}
			})
		})
	}
}

// TestInstanceClosesTheConnectionsThatItKept holds that reused connections do not outlive the instance: their
// goroutines would fail the bubble.
func TestInstanceClosesTheConnectionsThatItKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"a"}, small("PROBER_CONNECTION", "reuse"))
		time.Sleep(time.Minute)
		w.expect("6", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
	})
}

// TestInstanceHidesSecrets holds that neither a page nor the log shows a key, also when it is refused.
func TestInstanceHidesSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"a"}, map[string]string{
			"PROBER_PROMPT_TOKENS": "80", "PROBER_API_KEY": "sk-verysecret", "PROBER_QPS": "1",
		})
		time.Sleep(5 * time.Second)
		w.fault("a", sim.Fault{Status: 401})
		time.Sleep(5 * time.Second)
		for _, path := range []string{"/", "/metrics", "/api/v1/results", "/api/v1/targets"} {
			body := w.get(path)
			if strings.Contains(body, "verysecret") {
				t.Errorf("%s shows the key", path)
			}
			if regexp.MustCompile(`(time|people|year) (man|woman|life|way) `).MatchString(body) {
				t.Errorf("%s shows the prompt", path)
			}
		}
		for _, entry := range w.logs.All() {
			if strings.Contains(fmt.Sprint(entry.Message, entry.ContextMap()), "verysecret") {
				t.Errorf("the log entry %q shows the key", entry.Message)
			}
		}
	})
}

// TestRunWarnsOfPromptsThatDoNotFit holds that a target whose prompts do not fit its server's context is warned of
// once, in the log and on the page, and is asked what was configured all the same.
func TestRunWarnsOfPromptsThatDoNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"a"}, map[string]string{"PROBER_PROMPT_TOKENS": "200000", "PROBER_MAX_TOKENS": "20"})
		time.Sleep(time.Minute)
		const misfit = "a prompt of 200,000 tokens and an answer of 20 do not fit the server's context of 131,072: " +
			"--prompt-tokens 131052 is the longest that does (PROBER_PROMPT_TOKENS)"
		if n := w.logged(misfit); n != 1 {
			t.Errorf("warned %d times", n)
		}
		if !strings.Contains(w.get("/api/v1/targets"), "131,072") {
			t.Error("the page does not say it")
		}
		w.expect("6", "llm_probe_probes_total", `target="a:80"`, `outcome="rejected"`)
	})
}
