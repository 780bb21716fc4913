package sim

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Profile is a named set of measured figures: which API the simulated server speaks and how fast it is. MaxBatch decides between
// the two latency models of queue.go: 0 is a server that is always alone, above 0 one with continuous batching.
type Profile struct {
	Name        string `yaml:"name"`          // what ParseProfile knows it by
	Help        string `yaml:"help"`          // where the figures come from
	API         string `yaml:"api"`           // one of APIs, "openai" being vLLM's variant
	Model       string `yaml:"model"`         // its name
	MaxModelLen int    `yaml:"max_model_len"` // largest sum of prompt and answer, in tokens; 0: 131072

	// TTFT is the mean time to first token of one request of PromptTokens tokens. The jitters are standard deviations: of TTFT
	// (clipped at three of them; the queue model has none), and of a token's moment as a share of TPOT, which does not add up.
	TTFT         time.Duration `yaml:"ttft"`
	PromptTokens int           `yaml:"prompt_tokens"`
	TTFTJitter   time.Duration `yaml:"ttft_jitter"`
	PrefillRate  float64       `yaml:"prefill_rate"`  // tokens per second, for short prompts; 0: prompts cost no time
	PrefillCurve float64       `yaml:"prefill_curve"` // quadratic part (attention), in nanoseconds per token²
	TPOT         time.Duration `yaml:"tpot"`          // time per output token after the first, for one request alone
	TPOTJitter   float64       `yaml:"tpot_jitter"`

	MinAnswer   int  `yaml:"min_answer"` // bounds of the natural length of an answer in tokens, the end-of-sequence token included
	MaxAnswer   int  `yaml:"max_answer"`
	LateHeaders bool `yaml:"late_headers"` // the response headers come with the first frame, as Ray Serve's do

	MaxBatch        int           `yaml:"max_batch"`         // most sequences that are decoded together; 0: no queueing model
	StepTokens      int           `yaml:"step_tokens"`       // budget of one engine step, decoded and prefilled tokens together
	StepPerSequence time.Duration `yaml:"step_per_sequence"` // what each further sequence of the batch adds to a decode step
	PrefillFixed    time.Duration `yaml:"prefill_fixed"`     // what a step with prefill takes besides its tokens; a part of TTFT
	// PrefillShare is how many prompts must wait, as a share of the answers that run, before these are stopped for a prefill,
	// rounded down; after PrefillEvery steps without prefill fewer will do.
	PrefillShare float64 `yaml:"prefill_share"`
	PrefillEvery int     `yaml:"prefill_every"`
	MaxRequests  int     `yaml:"max_requests"` // most requests at once, waiting and running; further ones get 429 at once; 0: no limit
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

// ProfileNames are the names of [Profiles].
func ProfileNames() (names []string) {
	for _, p := range Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// ParseProfile finds a profile by name.
func ParseProfile(name string) (Profile, error) {
	i := slices.Index(ProfileNames(), name)
	if i < 0 {
		return Profile{}, fmt.Errorf("unknown profile %q", name)
	}
	return Profiles()[i], nil
}
