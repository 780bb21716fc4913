// Package sim is a simulated LLM server for the demo and for tests. It speaks OpenAI's API as many servers do, and other APIs,
// answers with the timing of measured systems (or of a queue under load), has a prefix cache and a tokenizer, fails on demand,
// and writes down when it sent each frame. It imports no other package of ours, so that it and the prober check each other.
package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds and defaults of a server.
const (
	defaultModelLen  = 131072
	defaultBodyLimit = 64 << 20
	cacheBlocks      = 1 << 16 // half of the prefix cache: 1M tokens
	keptReplays      = 500     // half of the response cache
)

// Config says which server to be. The zero value is the profile "fast".
type Config struct {
	Profile Profile // the API and the speed; one without API is taken as "fast"
	API     string  // one of APIs, whatever the profile; empty takes the profile's
	Server  string  // whose OpenAI API to speak where the API is "openai", one of ServerTypes; empty is "vllm"
	// Seed is where all randomness comes from: the n-th request of a server and a prompt's natural answer length are
	// the same in every run with the same seed.
	Seed          uint64
	Model         string // the name to answer to; empty takes the profile's
	Reasoning     int    // how many of the first tokens of an answer are reasoning, on the APIs that tell it apart
	HideReasoning bool   // no frame for reasoning tokens: only usage counts them
	// Precise makes frames leave within some hundred microseconds of when they are due, where a timer would be up to a
	// millisecond late, while at most 8 answers are under way. It is for real time only.
	Precise    bool
	APIKey     string // if set, required on the compute routes and under /v1/
	NoTokenize bool   // no routes that count tokens, so that clients must calibrate by usage
	// RejectFields are request fields that are refused, as a strict server does: "cache_salt",
	// "stream_options.continuous_usage_stats" and the like. The first of them in this order that a request holds is named.
	RejectFields []string
}

// Server is a simulated LLM server, an http.Handler. It is safe for concurrent use.
type Server struct {
	config     Config
	mux        *http.ServeMux
	created    time.Time
	serverType serverType
	cache      *prefixCache
	replays    *prefixCache // of a server type that has a response cache
	sentLog    *sentLog

	visits  atomic.Uint64 // requests that were given an id
	calls   atomic.Uint64 // requests to routes that generate
	running atomic.Int64  // requests that are being answered
	fault   atomic.Pointer[Fault]
	engine  *engine // nil: the server is always alone
	stop    context.CancelFunc
	stopped sync.WaitGroup // the engine
}

// New returns a server. Close it when done. It panics if the configuration names an API or a server type that does not exist.
func New(c Config) *Server {
	if c.Profile.API == "" {
		c.Profile, _ = ParseProfile("fast")
	}
	c.Profile.MaxModelLen = cmp.Or(c.Profile.MaxModelLen, defaultModelLen)
	c.API, c.Model = cmp.Or(c.API, c.Profile.API), cmp.Or(c.Model, c.Profile.Model)

	file := c.API
	if file == openAI { // only this one has server types
		file = path.Join(openAI, cmp.Or(c.Server, defaultServer))
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		config:     c,
		serverType: load(file),
		mux:        http.NewServeMux(),
		created:    time.Now(),
		cache:      newPrefixCache(cacheBlocks),
		replays:    newPrefixCache(keptReplays),
		sentLog:    &sentLog{},
		stop:       stop,
	}
	s.serverType.BodyLimit = cmp.Or(s.serverType.BodyLimit, defaultBodyLimit)
	s.fault.Store(&Fault{})
	if c.Profile.MaxBatch > 0 {
		s.engine = newEngine(c.Profile)
		s.stopped.Go(func() { s.engine.run(ctx) })
	}
	s.routes(ctx)
	return s
}

// Close cuts running answers and stops the engine, but not handlers, which closing the http.Server ends; later requests get 503.
func (s *Server) Close() {
	s.stop()
	s.stopped.Wait()
}

// SetFault replaces the fault for requests that start from now on, unless its values are out of bounds.
func (s *Server) SetFault(f Fault) error {
	if err := f.validate(); err != nil {
		return fmt.Errorf("fault: %w", err)
	}
	s.fault.Store(&f)
	return nil
}

// Fault is the fault that new requests get.
func (s *Server) Fault() Fault { return *s.fault.Load() }

// Sent returns the truth about the last 1,000 streamed answers, oldest first, running ones as far as they are. An answer
// stands here complete before its last byte is written. The slice is the caller's.
func (s *Server) Sent() []Sent { return s.sentLog.all() }

// ServeHTTP answers a request. To cut a connection it panics with http.ErrAbortHandler, as net/http wants it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

type call struct {
	id     uint64
	start  time.Time
	fault  Fault
	random *rand.Rand // owned by the call
	header http.Header
	model  string // that the path names, if it does
}

func (s *Server) newCall(r *http.Request) call {
	c := call{id: s.calls.Add(1), start: time.Now(), fault: s.Fault(), header: r.Header, model: r.PathValue("model")}
	c.random = rand.New(rand.NewPCG(s.config.Seed, c.id))
	if hit := c.random.Float64(); c.fault.Probability > 0 && hit >= c.fault.Probability {
		c.fault = Fault{}
	}
	return c
}

var (
	errClosed = errors.New("closed") // why the context of a request ends when the server is closed
	errCut    = errors.New("cut")    // what respond returns when the connection is to be cut although the client is there
)

// generate is the handler of a route that generates; open ends when the server is closed.
func (s *Server) generate(open context.Context, g *generation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := s.newCall(r)
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		defer context.AfterFunc(open, func() { cancel(errClosed) })()
		if open.Err() != nil {
			s.refuse(w, refusal{status: http.StatusServiceUnavailable, message: "The simulated server is closed."}, false)
			return
		}
		// The whole body is read first: only then does net/http notice a client that leaves.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.serverType.BodyLimit))
		tooLarge := (*http.MaxBytesError)(nil)
		switch query := s.serverType.NeedsQuery; {
		case errors.As(err, &tooLarge):
			s.refuse(w, refusal{status: http.StatusRequestEntityTooLarge, message: "The request body is too large."}, false)
		case err == nil && query != "" && r.URL.Query().Get(query) == "":
			s.notFound(w, r)
		case err == nil && !s.authorized(r):
			s.refuse(w, unauthorized, false)
		case err != nil || s.respond(ctx, w, g, c, body) != nil:
			panic(http.ErrAbortHandler)
		}
	}
}

// respond answers one request. An error means that the connection is to be cut.
func (s *Server) respond(ctx context.Context, w http.ResponseWriter, g *generation, c call, body []byte) error {
	if c.fault.Hang {
		<-ctx.Done()
		return ctx.Err()
	}
	origin := c.start.Add(time.Duration(c.fault.SlowHeaders))
	if err := s.sleepUntil(ctx, origin); err != nil {
		return err
	}
	if status := c.fault.Status; status != 0 {
		message := strings.TrimSpace(fmt.Sprintf("Simulated fault: %d %s", status, http.StatusText(status)))
		s.refuse(w, refusal{status: status, message: message, retry: time.Duration(c.fault.RetryAfter)}, false)
		return nil
	}
	if c.fault.HTML {
		write(w, http.StatusOK, "text/html; charset=utf-8", proxyPage)
		return nil
	}
	q, refused := g.read(s, body, c.model)
	running, limit := s.running.Add(1), s.config.Profile.MaxRequests
	defer s.running.Add(-1)
	if refused == nil && limit > 0 && running > int64(limit) {
		refused = &refusal{status: http.StatusTooManyRequests, message: "Model is overloaded"}
	}
	if refused != nil {
		s.refuse(w, *refused, q.flags["stream"])
		return nil
	}
	a := s.accept(g, c, q, origin)
	defer a.tokens.gone.Store(true)
	if !q.flags["stream"] || c.fault.JSON {
		return a.whole(ctx, w)
	}
	return a.stream(ctx, w)
}

const proxyPage = "<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body><h1>Please sign in</h1></body></html>\n"
