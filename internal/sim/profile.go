package sim

import (
	"fmt"
	"slices"
	"time"
)

// Profile is a named set of measured figures: which server it is and how fast. MaxBatch decides between the two latency
// models of queue.go: with 0 a request is never slowed down by others, above 0 there is continuous batching. These
// profiles have these fields of speed:
//
//	                                             production-stack, ray-serve, tgi   fast   vllm-ladder
//	TTFT, TPOT                                                  x                    x          x
//	PromptTokens, PrefillRate                                   x                               x
//	TTFTJitter, TPOTJitter                                      x
//	PrefillCurve, MaxBatch, StepTokens, StepPerSequence                                         x
type Profile struct {
	Name        string // what ParseProfile knows it by
	Help        string // where the figures come from
	TGI         bool   // it speaks TGI's own API, else vLLM's variant of OpenAI's
	Model       string // its name
	MaxModelLen int    // largest sum of prompt and answer, in tokens; 0: 131072
	MinAnswer   int    // bounds of the natural length of an answer in tokens, the end-of-sequence token included
	MaxAnswer   int
	LateHeaders bool // the response headers come with the first frame, as Ray Serve's do

	// TTFT is the mean time to first token of one request of PromptTokens tokens, when nothing else is under way.
	TTFT         time.Duration
	PromptTokens int
	TTFTJitter   time.Duration // standard deviation, clipped at three of them
	PrefillRate  float64       // tokens per second, for short prompts; 0: prompts cost no time
	PrefillCurve float64       // quadratic part (attention), in nanoseconds per token²
	TPOT         time.Duration // time per output token after the first, for one request alone
	TPOTJitter   float64       // standard deviation of a token's moment, as a share of TPOT; it does not add up

	MaxBatch        int           // most sequences that are decoded together; 0: a request is never slowed down
	StepTokens      int           // budget of one engine step, decoded and prefilled tokens together
	StepPerSequence time.Duration // what each further sequence of the batch adds to a decode step
}

const (
	llama8B   = "meta-llama/Llama-3.1-8B-Instruct"
	llama405B = "meta-llama/Llama-3.1-405B-Instruct"
)

// Profiles returns what was measured of real systems, and a profile for tests.
func Profiles() []Profile {
	return []Profile{
		{
			Name:  "production-stack",
			Help:  "vLLM production-stack, Llama-3.1-8B: TTFT 796 ms at 21,000 prompt tokens, TPOT 2.80 ms",
			Model: llama8B,
			TTFT:  796100 * time.Microsecond, PromptTokens: 21000, TTFTJitter: 4 * time.Millisecond, PrefillRate: 28000,
			TPOT: 2800 * time.Microsecond, TPOTJitter: 0.03,
			MinAnswer: 58, MaxAnswer: 400,
		},
		{
			Name: "ray-serve",
			Help: "Ray Serve LLM, Llama-3.1-8B: TTFT 823 ms at 21,000 prompt tokens, TPOT 7.36 ms, " +
				"headers with the first chunk",
			Model: llama8B,
			TTFT:  822600 * time.Microsecond, PromptTokens: 21000, TTFTJitter: 2500 * time.Microsecond, PrefillRate: 28000,
			TPOT: 7360 * time.Microsecond, TPOTJitter: 0.03,
			MinAnswer: 58, MaxAnswer: 400,
			LateHeaders: true,
		},
		{
			Name:  "tgi",
			Help:  "Hugging Face TGI (/generate_stream), Llama-3.1-405B: TTFT 123.5 ms at 80 prompt tokens, TPOT 43.5 ms",
			TGI:   true,
			Model: llama405B,
			TTFT:  123500 * time.Microsecond, PromptTokens: 80, TTFTJitter: time.Millisecond, PrefillRate: 3000,
			TPOT: 43500 * time.Microsecond, TPOTJitter: 0.01,
			MinAnswer: 32, MaxAnswer: 85,
		},
		vllmLadder(),
		{
			Name:  "fast",
			Help:  "for tests: TTFT 20 ms whatever the prompt, TPOT 1 ms, no jitter",
			Model: llama8B,
			TTFT:  20 * time.Millisecond,
			TPOT:  time.Millisecond, MinAnswer: 58, MaxAnswer: 400,
		},
	}
}

// vllmLadder is fitted to a recorded ladder of 1 to 2,048 simultaneous prompts of 80 tokens with answers of 58 tokens
// in the mean (85 for the single one). Its formula stands at engine (queue.go). PrefillCurve comes from the same
// system's single prompts of 10,000 to 128,000 tokens; StepTokens from the 800 ms gaps that a long prefill tore into
// running answers. Mean TTFT, mean TPOT and throughput are those of the record within a quarter, except for TPOT and
// throughput at 64 prompts (a factor of up to 1.7): from 32 to 64 the recorded decode step more than doubled.
func vllmLadder() Profile {
	return Profile{
		Name:  "vllm-ladder",
		Help:  "vLLM under load, continuous batching: TTFT 315 ms and TPOT 50 ms alone, saturates near 7.5 requests/s",
		Model: llama405B,
		TTFT:  315 * time.Millisecond, PromptTokens: 80, PrefillRate: 1400, PrefillCurve: 38.4,
		TPOT:      50 * time.Millisecond,
		MinAnswer: 32, MaxAnswer: 85,
		MaxBatch: 208, StepTokens: 512, StepPerSequence: 1100 * time.Microsecond,
	}
}

// ProfileNames returns the names of [Profiles].
func ProfileNames() (names []string) {
	for _, p := range Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// ParseProfile returns the profile of a name.
func ParseProfile(name string) (Profile, error) {
	i := slices.Index(ProfileNames(), name)
	if i < 0 {
		return Profile{}, fmt.Errorf("unknown profile %q", name)
	}
	return Profiles()[i], nil
}
