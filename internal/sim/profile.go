package sim

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
)

// Profile is a named set of measured figures: which API the simulated server speaks and how fast it is. It is plain
// data; a profile of one's own may be written as a literal. MaxBatch decides between the two latency models: 0 is a
// server that is always alone (latency.go), above 0 it is one with continuous batching (queue.go).
type Profile struct {
	// Name is what ParseProfile knows it by.
	Name string `yaml:"name"`
	// Help says in one line where the figures come from.
	Help string `yaml:"help"`
	// API is the API that it speaks unless Config names another: one of APIs, "openai" being vLLM's variant.
	API string `yaml:"api"`
	// Model is the model's name when Config does not give one.
	Model string `yaml:"model"`
	// MaxModelLen is the largest sum of prompt and answer, in tokens; 0 means 131072.
	MaxModelLen int `yaml:"max_model_len"`

	// TTFT is the mean time to first token of one request of PromptTokens tokens.
	TTFT time.Duration `yaml:"ttft"`
	// PromptTokens is the prompt length at which TTFT holds.
	PromptTokens int `yaml:"prompt_tokens"`
	// TTFTJitter is the standard deviation of TTFT; a draw is clipped at three of them. The queue model has none.
	TTFTJitter time.Duration `yaml:"ttft_jitter"`
	// PrefillRate is the speed of prefill for short prompts, tokens per second; 0 means that prompts cost no time.
	PrefillRate float64 `yaml:"prefill_rate"`
	// PrefillCurve is the quadratic part of prefill (attention), in nanoseconds per token²; 0 means none.
	PrefillCurve float64 `yaml:"prefill_curve"`
	// TPOT is the time per output token after the first, for one request alone.
	TPOT time.Duration `yaml:"tpot"`
	// TPOTJitter is the standard deviation of a token's moment as a share of TPOT; it does not add up over the answer.
	TPOTJitter float64 `yaml:"tpot_jitter"`

	// MinAnswer and MaxAnswer bound the natural length of an answer in tokens, the end-of-sequence token included.
	MinAnswer int `yaml:"min_answer"`
	MaxAnswer int `yaml:"max_answer"`
	// LateHeaders holds the response headers back until the first frame, as Ray Serve does.
	LateHeaders bool `yaml:"late_headers"`

	// MaxBatch is the most sequences that are decoded together; 0 means no queueing model.
	MaxBatch int `yaml:"max_batch"`
	// StepTokens is the token budget of one engine step, decoded and prefilled tokens together.
	StepTokens int `yaml:"step_tokens"`
	// StepPerSequence is what each further sequence of the batch adds to a decode step.
	StepPerSequence time.Duration `yaml:"step_per_sequence"`
	// PrefillFixed is what a step with prefill takes besides its tokens. It is a part of TTFT.
	PrefillFixed time.Duration `yaml:"prefill_fixed"`
	// PrefillShare is how many prompts must wait, as a share of the answers that run, before these are stopped for a
	// prefill; rounded down. 0 means any number.
	PrefillShare float64 `yaml:"prefill_share"`
	// PrefillEvery is the number of steps since the last prefill after which fewer prompts are served as well.
	PrefillEvery int `yaml:"prefill_every"`
	// MaxRequests is the most requests that the server takes at once, waiting and running ones together; further ones
	// are refused at once with 429, or as the API says it. 0 means no limit.
	MaxRequests int `yaml:"max_requests"`
}

// profiles are the figures of all profiles.
//
//go:embed profiles.yaml
var profiles []byte

// Profiles lists the known profiles, in a stable order. The slice is the caller's.
func Profiles() (list []Profile) {
	decode("profiles.yaml", profiles, &list)
	return list
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
	return Profile{}, OneOf("profile", name, names)
}
