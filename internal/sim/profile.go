package sim

import (
	"fmt"
	"strings"
	"time"
)

// Profile is a named set of measured figures: which API the simulated server speaks and how fast it is. It is plain
// data; a profile of one's own may be written as a literal. MaxBatch decides between the two latency models: 0 is a
// server that is always alone (latency.go), above 0 it is one with continuous batching (queue.go).
type Profile struct {
	// Name is what ParseProfile knows it by.
	Name string
	// Help says in one line where the figures come from.
	Help string
	// API is the API that it speaks unless Config names another: one of APIs, "openai" being vLLM's variant.
	API string
	// Model is the model's name when Config does not give one.
	Model string
	// MaxModelLen is the largest sum of prompt and answer, in tokens; 0 means 131072.
	MaxModelLen int

	// TTFT is the mean time to first token of one request of PromptTokens tokens.
	TTFT time.Duration
	// PromptTokens is the prompt length at which TTFT holds.
	PromptTokens int
	// TTFTJitter is the standard deviation of TTFT; a draw is clipped at three of them. The queue model has none.
	TTFTJitter time.Duration
	// PrefillRate is the speed of prefill for short prompts, tokens per second; 0 means that prompts cost no time.
	PrefillRate float64
	// PrefillCurve is the quadratic part of prefill (attention), in nanoseconds per token²; 0 means none.
	PrefillCurve float64
	// TPOT is the time per output token after the first, for one request alone.
	TPOT time.Duration
	// TPOTJitter is the standard deviation of a token's moment as a share of TPOT; it does not add up over the answer.
	TPOTJitter float64

	// MinAnswer and MaxAnswer bound the natural length of an answer in tokens, the end-of-sequence token included.
	MinAnswer, MaxAnswer int
	// Reasoning is how many of the first tokens of an answer are reasoning, on the APIs that tell it apart.
	Reasoning int
	// LateHeaders holds the response headers back until the first frame, as Ray Serve does.
	LateHeaders bool

	// MaxBatch is the most sequences that are decoded together; 0 means no queueing model.
	MaxBatch int
	// StepTokens is the token budget of one engine step, decoded and prefilled tokens together.
	StepTokens int
	// StepPerSequence is what each further sequence of the batch adds to a decode step.
	StepPerSequence time.Duration
	// PrefillFixed is what a step with prefill takes besides its tokens. It is a part of TTFT.
	PrefillFixed time.Duration
	// PrefillShare is how many prompts must wait, as a share of the answers that run, before these are stopped for a
	// prefill; rounded down. 0 means any number.
	PrefillShare float64
	// PrefillEvery is the number of steps since the last prefill after which fewer prompts are served as well.
	PrefillEvery int
	// MaxRequests is the most requests that the server takes at once, waiting and running ones together; further ones
	// are refused at once with 429, or as the API says it. 0 means no limit.
	MaxRequests int
}

// Profiles lists the known profiles, in a stable order. The slice is the caller's.
func Profiles() []Profile {
	return []Profile{productionStack(), rayServe(), tgiProfile(), vllmLadder(), tgiLadder(), fast()}
}

// ProfilesHelp is a line for each profile, for users.
func ProfilesHelp() string {
	var b strings.Builder
	for _, p := range Profiles() {
		fmt.Fprintf(&b, "  %-18s%s\n", p.Name, p.Help)
	}
	return b.String()
}

// ParseProfile finds a profile by name. The error for an unknown name lists the known ones.
func ParseProfile(name string) (Profile, error) {
	var names []string
	for _, p := range Profiles() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Profile{}, fmt.Errorf("profile %q: unknown; known: %s", name, strings.Join(names, ", "))
}

func productionStack() Profile {
	return Profile{
		Name: "production-stack", Help: "vLLM production-stack, Llama-3.1-8B: TTFT 796 ms at 21,000 prompt tokens, TPOT 2.80 ms",
		API: openAI, Model: "meta-llama/Llama-3.1-8B-Instruct", MaxModelLen: 131072,
		TTFT: 796100 * time.Microsecond, PromptTokens: 21000, TTFTJitter: 4 * time.Millisecond, PrefillRate: 28000,
		TPOT: 2800 * time.Microsecond, TPOTJitter: 0.03,
		MinAnswer: 58, MaxAnswer: 400,
	}
}

func rayServe() Profile {
	return Profile{
		Name: "ray-serve", Help: "Ray Serve LLM, Llama-3.1-8B: TTFT 823 ms at 21,000 prompt tokens, TPOT 7.36 ms, headers with the first chunk",
		API: openAI, Model: "meta-llama/Llama-3.1-8B-Instruct", MaxModelLen: 131072,
		TTFT: 822600 * time.Microsecond, PromptTokens: 21000, TTFTJitter: 2500 * time.Microsecond, PrefillRate: 28000,
		TPOT: 7360 * time.Microsecond, TPOTJitter: 0.03,
		MinAnswer: 58, MaxAnswer: 400, LateHeaders: true,
	}
}

func tgiProfile() Profile {
	return Profile{
		Name: "tgi", Help: "Hugging Face TGI (/generate_stream), Llama-3.1-405B: TTFT 123.5 ms at 80 prompt tokens, TPOT 43.5 ms",
		API: "tgi", Model: "meta-llama/Llama-3.1-405B-Instruct", MaxModelLen: 131072,
		TTFT: 123500 * time.Microsecond, PromptTokens: 80, TTFTJitter: time.Millisecond, PrefillRate: 3000,
		TPOT: 43500 * time.Microsecond, TPOTJitter: 0.01,
		MinAnswer: 32, MaxAnswer: 85,
	}
}

// vllmLadder is fitted to a recorded ladder of 1 to 2,048 simultaneous prompts of 80 tokens with answers of 58 tokens
// in the mean (85 for the single one). Its formula stands at engine. PrefillCurve comes from the same system's single prompts
// of 10,000 to 128,000 tokens; StepTokens from the 800 ms gaps that a long prefill tore into running answers.
func vllmLadder() Profile {
	return Profile{
		Name: "vllm-ladder", Help: "vLLM under load, continuous batching: TTFT 315 ms and TPOT 50 ms alone, saturates near 7.5 requests/s",
		API: openAI, Model: "meta-llama/Llama-3.1-405B-Instruct", MaxModelLen: 131072,
		TTFT: 315 * time.Millisecond, PromptTokens: 80, PrefillRate: 1400, PrefillCurve: 38.4,
		TPOT:      50 * time.Millisecond,
		MinAnswer: 32, MaxAnswer: 85,
		MaxBatch: 208, StepTokens: 512, StepPerSequence: 1100 * time.Microsecond,
	}
}

// tgiLadder is fitted to a recorded ladder of 1 to 4,096 simultaneous prompts of 80 tokens with answers of 58 tokens in
// the mean. TGI prefills whole prompts, as many as fit (StepTokens is out of their reach), and meanwhile the running
// answers stand still: at 2,048 the median gap between tokens was 0.55 s, its P99 7.4 s. The first prompt to arrive was
// served alone and all others after it, hence PrefillFixed. PrefillShare and PrefillEvery are its waiting_served_ratio
// and max_waiting_tokens; MaxRequests, its max_concurrent_requests, is what succeeded of 4,096.
func tgiLadder() Profile {
	return Profile{
		Name: "tgi-ladder",
		Help: "TGI under load, whole prompts before answers: TTFT 123.5 ms and TPOT 43.5 ms alone, saturates near 14 requests/s",
		API:  "tgi", Model: "meta-llama/Llama-3.1-405B-Instruct", MaxModelLen: 131072,
		TTFT: 123500 * time.Microsecond, PromptTokens: 80, PrefillRate: 2900,
		TPOT:      43500 * time.Microsecond,
		MinAnswer: 32, MaxAnswer: 85,
		MaxBatch: 820, StepTokens: 131072, StepPerSequence: 720 * time.Microsecond,
		PrefillFixed: 90 * time.Millisecond, PrefillShare: 0.3, PrefillEvery: 20, MaxRequests: 2537,
	}
}

func fast() Profile {
	return Profile{
		Name: "fast", Help: "for tests: TTFT 20 ms whatever the prompt, TPOT 1 ms, no jitter",
		API: openAI, Model: "meta-llama/Llama-3.1-8B-Instruct", MaxModelLen: 131072,
		TTFT: 20 * time.Millisecond, TPOT: time.Millisecond,
		MinAnswer: 58, MaxAnswer: 400,
	}
}
