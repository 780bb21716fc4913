package history

import (
	"math"
	"math/rand/v2"
	"time"
)

// What a server is like that nothing happens to.
const (
	itl      = 0.018 // seconds, the usual gap between two tokens
	ttft     = 1.2   // seconds
	tokens   = 100   // of an answer
	failures = 0.001 // share of probes that fail

	itlSwing, ttftSwing = 0.10, 0.20 // by the hour of the day, up and down
	drift               = 0.02       // standard deviation of the level of an hour
	persistence         = 0.5        // correlation of the level of an hour with that of the hour before
	itlSpread           = 0.09       // coefficient of variation between probes
	ttftSpread          = 0.18
	tokenSpread         = 0.08 // and between the tokens of a probe
	stalls              = 0.01 // share of tokens that take two to six times as long
)

// A regression makes a server slower for a while.
type regression struct{ from, to time.Time }

// A server is that of a scenario: how fast it is at any time.
type server struct {
	scenario

	random     *rand.Rand
	regressed  []regression     // in order
	hour       time.Time        // the hour that the levels are of
	levels     [2]float64       // drift of ITL and TTFT: logarithms, in standard deviations
	noise      [1 << 14]float64 // factor of a token within its probe
	regressing bool
}

// newServer makes a server whose noise depends on the seed alone, so that
// two of equal seed differ by their regressions only.
func newServer(s scenario) *server {
	made := &server{scenario: s, random: rand.New(rand.NewPCG(s.seed, 1)), regressed: s.regressions()}
	for i := range made.noise {
		factor := lognormal(made.random, tokenSpread)
		if made.random.Float64() < stalls {
			factor *= 2 + 4*made.random.Float64()
		}
		made.noise[i] = factor
	}
	made.levels = [2]float64{made.random.NormFloat64(), made.random.NormFloat64()}
	return made
}

// lognormal is a factor around 1 with a coefficient of variation.
func lognormal(r *rand.Rand, spread float64) float64 { return math.Exp(spread * r.NormFloat64()) }

// A probe is what one answer showed, in seconds.
type probe struct {
	failed     bool
	ttft, e2el float64
	itl        float64 // of the probe; a token's is that times its noise
	noise      int     // where in the server's noise its tokens begin
	tpot       float64
	maxGap     float64
}

// at moves the levels of drift to the hour of a time that never goes back.
func (s *server) at(now time.Time) {
	hour := now.Truncate(time.Hour)
	if s.hour.IsZero() {
		s.hour = hour
	}
	for ; s.hour.Before(hour); s.hour = s.hour.Add(time.Hour) {
		for i := range s.levels {
			s.levels[i] = persistence*s.levels[i] + math.Sqrt(1-persistence*persistence)*s.random.NormFloat64()
		}
	}
	for len(s.regressed) > 0 && !now.Before(s.regressed[0].to) {
		s.regressed = s.regressed[1:]
	}
	s.regressing = len(s.regressed) > 0 && !now.Before(s.regressed[0].from)
}

// probe asks the server once.
func (s *server) probe(now time.Time) probe {
	s.at(now)
	day := math.Sin(2 * math.Pi * (float64(now.Hour()) + float64(now.Minute())/60 - 9) / 24)
	level := 1.0
	if d := now.Weekday(); d == time.Saturday || d == time.Sunday {
		level = s.weekend
	}
	p := probe{failed: s.random.Float64() < failures, noise: s.random.IntN(len(s.noise))}
	p.itl = itl * level * (1 + itlSwing*day) * math.Exp(s.drift*s.levels[0]) * lognormal(s.random, itlSpread)
	p.ttft = ttft * level * (1 + ttftSwing*day) * math.Exp(s.drift*s.levels[1]) * lognormal(s.random, ttftSpread)
	if s.regressing {
		p.itl *= s.itl
		p.ttft *= s.ttft
		p.failed = p.failed || s.down
	}
	whole := 0.0
	for i := range tokens - 1 {
		g := s.gap(p, i)
		whole += g
		p.maxGap = max(p.maxGap, g)
	}
	p.tpot = whole / (tokens - 1)
	p.e2el = p.ttft + whole
	return p
}

// gap is the time before a token of a probe, in seconds.
func (s *server) gap(p probe, i int) float64 { return p.itl * s.noise[(p.noise+i)%len(s.noise)] }
