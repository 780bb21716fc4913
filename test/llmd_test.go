package test

import (
	"encoding/json"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llm-prober/prober/test/program"
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
	address := program.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	p := program.Launch(t, "LLMD_BINARY", nil, append([]string{
		"--port", port, "--model", "llmd", "--force-dummy-tokenizer", "--seed", "1",
		"--latency-calculator", "constant", "--time-to-first-token", "300ms", "--inter-token-latency", "40ms",
		"--max-model-len", strconv.Itoa(llmdWindow), "--max-num-seqs", "32",
	}, flags...)...)
	p.Eventually(t, "llm-d-inference-sim to be ready", func() bool { return program.Answers(t, "http://"+address+"/health/ready") })
	return "http://" + address
}

// An account is what these tests look at in the JSON of prober once.
type account struct {
	Outcome        string    `json:"outcome"`
	Error          string    `json:"error"`
	HTTPStatus     int       `json:"http_status"`
	TTFT           *float64  `json:"ttft_seconds"`
	TPOT           *float64  `json:"tpot_seconds"`
	E2EL           *float64  `json:"e2el_seconds"`
	ITL            []float64 `json:"itl_seconds"`
	TokensPerFrame []int     `json:"tokens_per_frame"`
	Frames         int       `json:"frames"`
	FinishReason   string    `json:"finish_reason"`
	Usage          struct{ Prompt, Output int }
}

// once probes a server once, and returns what was measured and the exit code.
func once(t *testing.T, url, api string, tokens int) (a account, line string, code int) {
	t.Helper()
	line, code = program.Prober(t, nil, "once", url, "--api", api, "--format", "json",
		"--prompt-tokens", strconv.Itoa(tokens), "--max-tokens", strconv.Itoa(llmdOutput)).Output(t)
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	return a, line, code
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
	for name, want := range map[string]float64{
		"vllm:request_success_total":             probes,
		"vllm:prompt_tokens_total":               asked,
		"vllm:generation_tokens_total":           probes * llmdOutput,
		"vllm:time_to_first_token_seconds_count": probes,
		"vllm:inter_token_latency_seconds_count": probes * (llmdOutput - 1),
	} {
		program.Eventually(t, name, func() bool { return program.Exposed(t, url+"/", name, "") == want })
	}
}

// checkAnswer holds that a probe was answered exactly as it asked, and no faster
// than the server was told to.
func checkAnswer(t *testing.T, url, api string, tokens int) {
	t.Helper()
	a, line, code := once(t, url, api, tokens)
	if a.Outcome != "ok" || code != 0 || a.TTFT == nil || a.TPOT == nil || a.E2EL == nil {
		t.Fatalf("exit code %d: %s", code, line)
	}
	if a.Usage.Prompt != tokens || a.Usage.Output != llmdOutput || a.FinishReason != "length" {
		t.Errorf("asked for %d and %d tokens, got %+v, finished by %s", tokens, llmdOutput, a.Usage, a.FinishReason)
	}
	if ones := slices.Repeat([]int{1}, llmdOutput); a.Frames != llmdOutput || !slices.Equal(a.TokensPerFrame, ones) {
		t.Errorf("%d frames with %v tokens, want one token in each of %d", a.Frames, a.TokensPerFrame, llmdOutput)
	}
	gaps := 0.0
	for _, gap := range a.ITL {
		gaps += gap
	}
	if *a.TTFT < llmdTTFT || *a.TTFT+gaps < llmdShortest || *a.E2EL < llmdShortest {
		t.Errorf("TTFT %v, gaps of %v together and E2EL %v are less than the server waited: %v and %v in all",
			*a.TTFT, gaps, *a.E2EL, llmdTTFT, llmdShortest)
	}
	// TPOT is in whole nanoseconds.
	if len(a.ITL) != llmdOutput-1 || math.Abs(*a.TPOT-gaps/(llmdOutput-1)) > 1.5e-9 {
		t.Errorf("TPOT %v, but %d gaps of %v together", *a.TPOT, len(a.ITL), gaps)
	}
}

// TestLLMDFailures has every failure that the server can inject, and a prompt that is longer than its
// window, which it answers with 200 and an error in the stream.
func TestLLMDFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		failure, outcome string
		status           int
	}{
		{"rate_limit", "rate_limited", 429},
		{"invalid_api_key", "unauthorized", 401},
		{"context_length", "rejected", 400},
		{"invalid_request", "rejected", 400},
		{"model_not_found", "rejected", 404},
		{"server_error", "overloaded", 503},
		{"window", "rejected", 200},
	} {
		t.Run(test.failure, func(t *testing.T) {
			t.Parallel()
			tokens, flags := 80, []string{"--failure-injection-rate", "100", "--failure-types", test.failure}
			if test.failure == "window" {
				tokens, flags = llmdWindow+1, nil
			}
			url := llmd(t, flags...)
			for _, api := range []string{"openai-chat", "openai-completions"} {
				a, line, code := once(t, url, api, tokens)
				if a.Outcome != test.outcome || a.HTTPStatus != test.status || code != 1 {
					t.Errorf("%s: want %s with %d, got exit code %d: %s", api, test.outcome, test.status, code, line)
				}
				if a.TTFT != nil || a.TPOT != nil || a.E2EL != nil || a.Frames != 0 {
					t.Errorf("%s: numbers of an answer that there was not: %s", api, line)
				}
				if test.failure == "window" && !strings.Contains(a.Error, "maximum context length is "+strconv.Itoa(llmdWindow)) {
					t.Errorf("%s: no reason in %s", api, line)
				}
			}
		})
	}
}
