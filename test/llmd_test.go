package test

import (
	"encoding/json"
	"errors"
	"math"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// What llm-d-inference-sim is told to wait, and what it is asked for. It sleeps
// so long before each token, and so never less (v0.10.2,
// https://github.com/llm-d/llm-d-inference-sim, simulator.go).
const (
	llmdTTFT   = 0.3   // seconds to the first token
	llmdITL    = 0.04  // seconds between two tokens
	llmdOutput = 50    // tokens of an answer
	llmdWindow = 32768 // tokens of prompt and answer together, at most
)

// llmdShortest is what an answer takes at least, in seconds. Gaps are held
// against it together with the time to the first token: its tokens are sent by
// another goroutine than the one that sleeps, so that a first token that waited
// for a processor makes the gaps after it shorter by as much.
const llmdShortest = llmdTTFT + (llmdOutput-1)*llmdITL

// llmd starts llm-d-inference-sim with additional flags, and returns its URL when
// it is ready. It cannot be told to find a free port itself.
func llmd(t *testing.T, flags ...string) (url string) {
	t.Helper()
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, "LLMD_BINARY", nil, append([]string{
		"--port", port, "--model", "llmd", "--force-dummy-tokenizer", "--seed", "1",
		"--latency-calculator", "constant", "--time-to-first-token", "300ms", "--inter-token-latency", "40ms",
		"--max-model-len", strconv.Itoa(llmdWindow), "--max-num-seqs", "32",
	}, flags...)...)
	eventually(t, "llm-d-inference-sim to be ready", func() bool {
		select {
		case err := <-p.exited:
			t.Fatalf("llm-d-inference-sim ended: %v", err)
		default:
		}
		return answers(t, "http://"+address+"/health/ready")
	})
	return "http://" + address
}

// freeAddress is an address of this machine on which nothing listens, for a
// program that cannot find one itself.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// answers reports whether a GET request is answered with 200. A closed port is
// no failure.
func answers(t *testing.T, url string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// An account is what these tests look at in the JSON of prober once.
type account struct {
	Outcome        string    `json:"outcome"`
	Error          *string   `json:"error"`
	HTTPStatus     *int      `json:"http_status"`
	TTFT           *float64  `json:"ttft_seconds"`
	TPOT           *float64  `json:"tpot_seconds"`
	E2EL           *float64  `json:"e2el_seconds"`
	MaxGap         *float64  `json:"max_gap_seconds"`
	ITL            []float64 `json:"itl_seconds"`
	TokensPerFrame []int     `json:"tokens_per_frame"`
	Frames         int       `json:"frames"`
	Coalesced      int       `json:"coalesced_frames"`
	FinishReason   *string   `json:"finish_reason"`
	Usage          struct {
		Prompt *int `json:"prompt"`
		Output *int `json:"output"`
	} `json:"usage"`
}

// once probes a server once, and returns what was measured and the exit code.
func once(t *testing.T, url, api string, tokens int) (a account, line string, code int) {
	t.Helper()
	p := start(t, nil, "once", url, "--api", api, "--format", "json",
		"--prompt-tokens", strconv.Itoa(tokens), "--max-tokens", strconv.Itoa(llmdOutput))
	line = <-p.lines
	for more := range p.lines {
		t.Errorf("more than one line: %s", more)
	}
	var failed *exec.ExitError
	if err := <-p.exited; err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	return a, line, p.cmd.ProcessState.ExitCode()
}

// TestLLMD asks a server that is not ours for short and long prompts in two of
// its dialects, and compares with what it counted itself.
func TestLLMD(t *testing.T) {
	t.Parallel()
	url := llmd(t)
	probes, asked := 0.0, 0.0
	t.Run("once", func(t *testing.T) {
		for _, api := range []string{"openai-chat", "openai-completions"} {
			for _, tokens := range []int{80, 2000, 21000} {
				probes, asked = probes+1, asked+float64(tokens)
				t.Run(api+"/"+strconv.Itoa(tokens), func(t *testing.T) {
					t.Parallel()
					checkAnswer(t, url, api, tokens)
				})
			}
		}
	})
	counted(t, url, map[string]float64{
		`vllm:request_success_total`:       probes,
		`vllm:prompt_tokens_total`:         asked,
		`vllm:generation_tokens_total`:     probes * llmdOutput,
		`vllm:time_to_first_token_seconds`: probes,
		`vllm:inter_token_latency_seconds`: probes * (llmdOutput - 1),
	})
}

// checkAnswer holds that a probe was answered exactly as it asked, and no faster
// than the server was told to.
func checkAnswer(t *testing.T, url, api string, tokens int) {
	t.Helper()
	a, line, code := once(t, url, api, tokens)
	if a.Outcome != "ok" || code != 0 || a.TTFT == nil || a.TPOT == nil || a.E2EL == nil || a.MaxGap == nil ||
		a.Usage.Prompt == nil || a.Usage.Output == nil || a.FinishReason == nil {
		t.Fatalf("exit code %d: %s", code, line)
	}
	if *a.Usage.Prompt != tokens || *a.Usage.Output != llmdOutput || *a.FinishReason != "length" {
		t.Errorf("asked for %d and %d tokens, got %d and %d, finished by %s",
			tokens, llmdOutput, *a.Usage.Prompt, *a.Usage.Output, *a.FinishReason)
	}
	if ones := slices.Repeat([]int{1}, llmdOutput); a.Frames != llmdOutput || !slices.Equal(a.TokensPerFrame, ones) {
		t.Errorf("%d frames with %v tokens, want one token in each of %d", a.Frames, a.TokensPerFrame, llmdOutput)
	}
	gaps := 0.0
	for _, gap := range a.ITL {
		gaps += gap
	}
	t.Logf("TTFT %.1f ms, TPOT %.2f ms, longest gap %.1f ms, E2EL %.1f ms, %d coalesced",
		1e3**a.TTFT, 1e3**a.TPOT, 1e3**a.MaxGap, 1e3**a.E2EL, a.Coalesced)
	if *a.TTFT < llmdTTFT || *a.TTFT+gaps < llmdShortest || *a.E2EL < llmdShortest {
		t.Errorf("TTFT %v, gaps of %v together and E2EL %v are less than the server waited: %v and %v in all",
			*a.TTFT, gaps, *a.E2EL, llmdTTFT, llmdShortest)
	}
	// TPOT is in whole nanoseconds.
	if len(a.ITL) != llmdOutput-1 || math.Abs(*a.TPOT-gaps/(llmdOutput-1)) > 1.5e-9 {
		t.Errorf("TPOT %v, but %d gaps of %v together", *a.TPOT, len(a.ITL), gaps)
	}
}

// counted waits until a server's counters and the counts of its histograms are
// as wanted.
func counted(t *testing.T, url string, want map[string]float64) {
	t.Helper()
	for name, n := range want {
		eventually(t, name+" to be "+strconv.FormatFloat(n, 'f', -1, 64), func() bool {
			got := 0.0
			for _, m := range scrape(t, url)[name].GetMetric() {
				got += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
			return got == n
		})
	}
}

// TestLLMDTooLong asks for more than the server's window: it answers with 200 and
// an error in the stream.
func TestLLMDTooLong(t *testing.T) {
	t.Parallel()
	url := llmd(t)
	for _, api := range []string{"openai-chat", "openai-completions"} {
		a, line, code := once(t, url, api, llmdWindow+1)
		if a.Outcome == "ok" || code != 1 || a.HTTPStatus == nil || *a.HTTPStatus != http.StatusOK ||
			a.Error == nil || !strings.Contains(*a.Error, "maximum context length is "+strconv.Itoa(llmdWindow)) {
			t.Errorf("%s: exit code %d: %s", api, code, line)
		}
		if a.TTFT != nil || a.TPOT != nil || a.E2EL != nil || a.Frames != 0 {
			t.Errorf("%s: numbers of an answer that there was not: %s", api, line)
		}
	}
}

// TestLLMDFailures has every failure that the server can inject.
func TestLLMDFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		failure, outcome string
		status           int
	}{
		{"rate_limit", "rate_limited", 429},
		{"invalid_api_key", "rejected", 401},
		{"context_length", "rejected", 400},
		{"invalid_request", "rejected", 400},
		{"model_not_found", "rejected", 404},
		{"server_error", "overloaded", 503},
	} {
		t.Run(test.failure, func(t *testing.T) {
			t.Parallel()
			url := llmd(t, "--failure-injection-rate", "100", "--failure-types", test.failure)
			for _, api := range []string{"openai-chat", "openai-completions"} {
				a, line, code := once(t, url, api, 80)
				if a.Outcome != test.outcome || a.HTTPStatus == nil || *a.HTTPStatus != test.status || code != 1 {
					t.Errorf("%s: want %s with %d, got exit code %d: %s", api, test.outcome, test.status, code, line)
				}
				if a.TTFT != nil || a.Frames != 0 {
					t.Errorf("%s: numbers of an answer that there was not: %s", api, line)
				}
			}
		})
	}
}

// TestLLMDRun probes at five a second until the budget is spent after twenty, and
// compares the prober's metrics with the server's.
func TestLLMDRun(t *testing.T) {
	t.Parallel()
	const probes = 20
	url := llmd(t)
	target := strings.TrimPrefix(url, "http://")
	prober := start(t, nil, "run", url, "--api", "openai-chat", "--listen-address", "127.0.0.1:0", "--log-format", "json",
		"--qps", "5", "--max-in-flight", strconv.Itoa(probes), "--prompt-tokens", "100", "--max-tokens", strconv.Itoa(llmdOutput),
		"--token-budget-per-day", strconv.Itoa(probes*(100+llmdOutput)))
	base := prober.listening(t)
	eventually(t, "twenty results and the budget spent", func() bool {
		text, _ := get(t, base+"metrics", "text/plain")
		return len(results(t, base)) == probes && spent(text) == 1
	})
	text, _ := get(t, base+"metrics", "text/plain")
	if want := `llm_probe_probes_total{model="llmd",outcome="ok",prompt="cold",target="` + target + `"} 20` + "\n"; !strings.Contains(text, want) {
		t.Errorf("no line %s in\n%s", want, text)
	}
	all := families(t, text, expfmt.NewFormat(expfmt.TypeTextPlain))
	ttft, itl, tpot := histogram(all, "ttft", target), histogram(all, "itl", target), histogram(all, "tpot", target)
	if ttft.GetSampleCount() != probes || tpot.GetSampleCount() != probes || itl.GetSampleCount() != probes*(llmdOutput-1) {
		t.Fatalf("%d samples of TTFT, %d of TPOT, %d of ITL", ttft.GetSampleCount(), tpot.GetSampleCount(), itl.GetSampleCount())
	}
	t.Logf("mean TTFT %.1f ms, TPOT %.2f ms, ITL %.2f ms", 1e3*ttft.GetSampleSum()/probes,
		1e3*tpot.GetSampleSum()/probes, 1e3*itl.GetSampleSum()/float64(itl.GetSampleCount()))
	if ttft.GetSampleSum() < probes*llmdTTFT || ttft.GetSampleSum()+itl.GetSampleSum() < probes*llmdShortest {
		t.Errorf("TTFT of %v and ITL of %v together are less than the server waited: %v and %v in all",
			ttft.GetSampleSum(), itl.GetSampleSum(), probes*llmdTTFT, probes*llmdShortest)
	}
	counted(t, url, map[string]float64{
		"vllm:request_success_total": probes, "vllm:prompt_tokens_total": probes * 100,
		"vllm:inter_token_latency_seconds": float64(itl.GetSampleCount()),
	})
	if code := prober.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// scrape returns the metrics of a server, by name.
func scrape(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	text, _ := get(t, url+"/metrics", "text/plain")
	return families(t, text, expfmt.NewFormat(expfmt.TypeTextPlain))
}
