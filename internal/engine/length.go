package engine

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/prompt"
)

// promptOptions returns what the group of t is asked. Each group of a run has its own seed, so that none warms the
// cache for another.
func promptOptions(t config.Target, f *files.Files, seed uint64) (prompt.Options, error) {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(t.Group)) // never fails
	o := prompt.Options{
		Workload: prompt.Workload(t.Prompt), Tokens: t.PromptTokens, Answer: t.MaxTokens, Seed: seed ^ hash.Sum64(),
		Users: t.SessionUsers, Rounds: t.SessionRounds, System: t.SystemTokens, Depth: t.CanaryDepth,
	}
	var err error
	o.Dataset, err = f.DataSet(t)
	return o, err
}

// kindsOf returns for each target what decides how its server counts, beside the model. The replicas of a name are of a
// kind, and a new key, other credentials, a timeout or a rate change nothing.
func kindsOf(targets []config.Target) []string {
	kinds := make([]string, len(targets))
	for i, t := range targets {
		d := t.Destination()
		settings := []string{d.URL, d.Path, d.API, d.APIVersion, d.Server, d.TLSServerName} // without the address
		for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
			settings = append(settings, name, d.Headers[name].Reveal())
		}
		kinds[i] = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", settings)))
	}
	return kinds
}

// noteLength logs what happens to the length of the prompts of j.
func (j *Job) noteLength(e length.Event) {
	log := j.log.With(zap.String("target", j.Targets[e.Member].Name))
	switch e.Kind {
	case length.EventKnown:
		if e.Method == length.ByEstimate {
			log.Warn("the server does not count the tokens of prompts: their length is estimated, at one token per word")
			return
		}
		log.Info("the length of the prompts is known",
			zap.String("known_by", string(e.Method)), zap.Int("calibration_requests", e.Requests), zap.Int("tokens_off", e.Off))
	case length.EventContradiction:
		log.Info("the server counts the prompts otherwise than expected: they are calibrated again",
			zap.Int("counted", e.Tokens), zap.Int("asked", e.Asked), zap.String("before_by", string(e.Method)))
	case length.EventWait:
		log.Info("slots are skipped until the length of the prompts is known", zap.Error(e.Err))
	case length.EventLongWait:
		log.Warn("slots are still skipped: the length of the prompts is not known yet", zap.Error(e.Err))
	case length.EventPanic:
		j.failures.Note("panic while "+e.Doing+"; please report it", e.Err.Error(), e.Stack,
			zap.String("target", j.Targets[e.Member].Name))
	}
}
