// Package sim is a simulated LLM server for the demo, for measurements and for tests. It speaks vLLM's OpenAI API
// (chat and completions) or TGI's own, answers with the timing of measured systems or of a queue under load, has a
// prefix cache and a tokenizer, fails on demand, and logs when it sent each frame. It imports no other package of
// ours, so that it and the prober check each other.
package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds and defaults of a server.
const (
	defaultModelLen = 131072
	bodyLimit       = 64 << 20
	cacheBlocks     = 1 << 16 // half of the prefix cache: 1M tokens
)

// Config says which server to be.
type Config struct {
	Profile Profile // the API and the speed
	// Seed is where all randomness comes from: the n-th request of a server and a prompt's natural answer length are
	// the same in every run with the same seed.
	Seed      uint64
	Reasoning int // how many of the first tokens of a chat's answer are reasoning
	// Precise makes frames leave within some hundred microseconds of when they are due, where a timer would be up to a
	// millisecond late, while at most 8 answers are under way. It is for real time only.
	Precise bool
}

// Server is a simulated LLM server, an http.Handler. It is safe for concurrent use.
type Server struct {
	config  Config
	mux     *http.ServeMux
	created time.Time
	cache   *prefixCache
	sentLog *sentLog

	calls   atomic.Uint64 // requests for answers
	running atomic.Int64  // requests that are being answered
	fault   atomic.Pointer[Fault]
	engine  *engine // nil: the server is always alone
	stop    context.CancelFunc
	stopped sync.WaitGroup // the engine
}

// New returns a server. Close it when done.
func New(c Config) *Server {
	c.Profile.MaxModelLen = cmp.Or(c.Profile.MaxModelLen, defaultModelLen)
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		config:  c,
		mux:     http.NewServeMux(),
		created: time.Now(),
		cache:   newPrefixCache(cacheBlocks),
		sentLog: &sentLog{},
		stop:    stop,
	}
	s.fault.Store(&Fault{})
	if c.Profile.MaxBatch > 0 {
		s.engine = newEngine(c.Profile)
		s.stopped.Go(func() { s.engine.run(ctx) })
	}
	if c.Profile.API == TGI {
		s.tgiRoutes()
	} else {
		s.openAIRoutes()
	}
	s.mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	s.controlRoutes()
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.refuse(w, refusal{http.StatusNotFound, "Not Found"})
	})
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
		return fmt.Errorf("fault: %w", err)
	}
	s.fault.Store(&f)
	return nil
}

// Sent returns the truth about the last 1,000 answers, oldest first, running ones as far as they are. An answer
// stands here complete before its last byte is written. The slice is the caller's.
func (s *Server) Sent() []Sent { return s.sentLog.all() }

// ServeHTTP answers a request. To cut a connection it panics with http.ErrAbortHandler, as net/http wants it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// controlRoutes registers the simulator's own API: GET, PUT and DELETE /sim/fault, and GET /sim/sent. It answers
// JSON; errors are {"error":"…"}.
func (s *Server) controlRoutes() {
	show := func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.fault.Load()) }
	s.mux.HandleFunc("GET /sim/fault", show)
	s.mux.HandleFunc("PUT /sim/fault", func(w http.ResponseWriter, r *http.Request) {
		f, err := readFault(http.MaxBytesReader(w, r.Body, 1<<16))
		if err != nil {
			writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		s.fault.Store(&f)
		show(w, r)
	})
	s.mux.HandleFunc("DELETE /sim/fault", func(w http.ResponseWriter, r *http.Request) {
		s.fault.Store(&Fault{})
		show(w, r)
	})
	s.mux.HandleFunc("GET /sim/sent", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, s.Sent())
	})
}

// A dialect is how a route is asked for an answer, and how the answer is written.
type dialect interface {
	// parse reads a request, or says why it is refused.
	parse(body []byte) (question, *refusal)
	// encoder returns what writes the frames of an answer.
	encoder(a *answer) encoder
}

// A question is what a request asks for.
type question struct {
	prompt   digest
	max, min int  // tokens of the answer: at most, and before a natural end
	endless  bool // no natural end

	reasoning  int  // how many of the first tokens are reasoning; may exceed the answer
	usage      bool // the client wants the token counts
	continuous bool // in every frame
}

// A call is one request for an answer.
type call struct {
	id     uint64 // counts from 1
	start  time.Time
	fault  Fault
	random *rand.Rand // owned by the call
}

func (s *Server) newCall() call {
	c := call{id: s.calls.Add(1), start: time.Now(), fault: *s.fault.Load()}
	c.random = rand.New(rand.NewPCG(s.config.Seed, c.id))
	draw := c.random.Float64()
	if c.fault.Probability > 0 && draw >= c.fault.Probability {
		c.fault = Fault{}
	}
	return c
}

// errCut is what respond returns when the connection is to be cut although the client is there.
var errCut = errors.New("cut")

// generate is the handler of a route that answers.
func (s *Server) generate(d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := s.newCall()
		// The whole body is read first: only then does net/http notice a client that leaves.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
		if err == nil {
			err = s.respond(r.Context(), w, d, c, body)
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// respond answers one request. An error means that the connection is to be cut.
func (s *Server) respond(ctx context.Context, w http.ResponseWriter, d dialect, c call, body []byte) error {
	if c.fault.Hang {
		<-ctx.Done()
		return ctx.Err()
	}
	origin := c.start.Add(time.Duration(c.fault.SlowHeaders))
	err := s.sleepUntil(ctx, origin)
	if err != nil {
		return err
	}
	if c.fault.Status != 0 {
		message := fmt.Sprintf("Simulated fault: %d %s", c.fault.Status, http.StatusText(c.fault.Status))
		s.refuse(w, refusal{c.fault.Status, strings.TrimSpace(message)})
		return nil
	}
	if c.fault.HTML {
		write(w, http.StatusOK, "text/html; charset=utf-8", proxyPage)
		return nil
	}
	q, refused := d.parse(body)
	running, limit := s.running.Add(1), s.config.Profile.MaxRequests
	defer s.running.Add(-1)
	if refused == nil && limit > 0 && running > int64(limit) {
		refused = &refusal{http.StatusTooManyRequests, "Model is overloaded"}
	}
	if refused != nil {
		s.refuseInStream(w, *refused)
		return nil
	}
	a := s.accept(c, q, origin)
	defer a.tokens.gone.Store(true)
	return a.stream(ctx, w, d.encoder(a))
}

const proxyPage = "<!DOCTYPE html>\n<html><head><title>Gateway</title></head>" +
	"<body><h1>Please sign in</h1></body></html>\n"
