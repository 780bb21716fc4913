// Package sim is a simulated LLM server for the demo, for measurements and for tests. It speaks vLLM's OpenAI API
// (chat and completions) or TGI's own, answers with the timing of measured systems or of a queue under load, has a
// prefix cache and a tokenizer, fails on demand, and notes when it sent each token. It imports no other package of
// ours, so that it and the prober check each other.
//
// Start reading at [Server.respond], which answers one request.
package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Config says which server to simulate.
type Config struct {
	Profile Profile // the API and the speed
	// Seed is where all randomness comes from: the n-th request of a server and a prompt's natural answer length are
	// the same in every run with the same seed.
	Seed      uint64
	Reasoning int // how many of the first tokens of a chat's answer are reasoning
}

// Server is a simulated LLM server, an http.Handler. It is safe for concurrent use.
type Server struct {
	config  Config
	mux     *http.ServeMux
	cache   *prefixCache
	precise bool // waits are precise, see sleepUntil

	calls     atomic.Uint64 // requests for answers
	answering atomic.Int64  // of these, the ones under way
	fault     atomic.Pointer[Fault]
	engine    *engine // nil: the server is always alone
	stop      context.CancelFunc
	stopped   sync.WaitGroup // the engine

	mu   sync.Mutex
	sent []*Sent // guarded by mu, as is all they point to; oldest first
}

// New returns a server. Close it when done.
func New(c Config) *Server {
	const (
		defaultModelLen = 131072
		cacheBlocks     = 1 << 16 // half of the prefix cache: 1M tokens
	)
	if c.Profile.MaxModelLen == 0 {
		c.Profile.MaxModelLen = defaultModelLen
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{config: c, mux: http.NewServeMux(), cache: newPrefixCache(cacheBlocks), stop: stop}
	s.fault.Store(&Fault{})
	if c.Profile.MaxBatch > 0 {
		s.engine = newEngine(c.Profile)
		s.stopped.Go(func() { s.engine.run(ctx) })
	}
	if c.Profile.TGI {
		s.tgiRoutes()
	} else {
		s.openAIRoutes()
	}
	s.mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.refuse(w, refusal{http.StatusNotFound, "Not Found"})
	})
	s.controlRoutes()
	return s
}

// Close stops the engine. Answers under way end with the http.Server.
func (s *Server) Close() {
	s.stop()
	s.stopped.Wait()
}

// SetFault replaces the fault for requests that start from now on, unless its values are out of bounds.
func (s *Server) SetFault(f Fault) error {
	err := f.validate()
	if err != nil {
		return err
	}
	s.fault.Store(&f)
	return nil
}

// ServeHTTP answers a request. To cut a connection it panics with http.ErrAbortHandler, as net/http wants it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// controlRoutes registers the simulator's own API: PUT and DELETE /sim/fault, and GET /sim/sent.
func (s *Server) controlRoutes() {
	s.mux.HandleFunc("PUT /sim/fault", func(w http.ResponseWriter, r *http.Request) {
		f, err := readFault(http.MaxBytesReader(w, r.Body, 1<<16))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.fault.Store(&f)
		writeJSON(w, f)
	})
	s.mux.HandleFunc("DELETE /sim/fault", func(w http.ResponseWriter, _ *http.Request) {
		s.fault.Store(&Fault{})
		writeJSON(w, Fault{})
	})
	s.mux.HandleFunc("GET /sim/sent", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Sent()) })
}

// A call is one request for an answer.
type call struct {
	id     uint64 // counts from 1
	start  time.Time
	fault  Fault
	random *rand.Rand // owned by the call
}

// newCall numbers a request and decides whether the fault hits it.
func (s *Server) newCall() call {
	c := call{id: s.calls.Add(1), start: time.Now(), fault: *s.fault.Load()}
	c.random = rand.New(rand.NewPCG(s.config.Seed, c.id))
	draw := c.random.Float64()
	if c.fault.Probability > 0 && draw >= c.fault.Probability {
		c.fault = Fault{}
	}
	return c
}

// generate returns the handler of a route that answers prompts.
func (s *Server) generate(p protocol) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := s.newCall()
		// The whole body is read first: only then does net/http notice a client that leaves.
		body, err := readBody(w, r)
		if err == nil {
			err = s.respond(r.Context(), w, p, c, body)
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// tokenize returns the handler of a route that counts the tokens of a prompt.
func (s *Server) tokenize(p protocol, reply func(tokens int) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := readBody(w, r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		q, _ := p.parse(body) // a prompt is counted even if it would not be answered
		writeJSON(w, reply(q.prompt.tokens))
	}
}

// respond answers one request. An error means that the connection is to be cut.
func (s *Server) respond(ctx context.Context, w http.ResponseWriter, p protocol, c call, body []byte) error {
	if c.fault.Hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if c.fault.Status != 0 {
		s.refuse(w, refusal{c.fault.Status, fmt.Sprintf("Simulated fault: %d", c.fault.Status)})
		return nil
	}
	q, refused := p.parse(body)
	if refused != nil {
		s.refuseInStream(w, *refused)
		return nil
	}
	s.answering.Add(1)
	defer s.answering.Add(-1)
	a := s.accept(c, q)
	defer a.schedule.gone.Store(true)
	return s.stream(ctx, w, p, a)
}
