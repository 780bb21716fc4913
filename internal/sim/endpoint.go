package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// An Endpoint is one simulated server and the address where it listens.
type Endpoint struct {
	Profile Profile
	Server  *Server

	listener net.Listener
}

// URL returns the endpoint's base URL.
func (e Endpoint) URL() string { return "http://" + e.listener.Addr().String() }

// Open makes an endpoint for each profile, all of them like c, on consecutive ports from that of first on, or on any
// free ones.
func Open(ctx context.Context, first net.TCPAddr, profiles []Profile, c Config, f Fault) ([]Endpoint, error) {
	var endpoints []Endpoint
	for i, p := range profiles {
		address := first
		if address.Port != 0 {
			address.Port += i
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address.String())
		if err != nil {
			CloseAll(endpoints)
			return nil, fmt.Errorf("listen for profile %s: %w", p.Name, err)
		}
		s := New(Config{Profile: p, Seed: c.Seed + uint64(i), Reasoning: c.Reasoning})
		s.precise = p.MaxBatch == 0
		s.fault.Store(&f)
		endpoints = append(endpoints, Endpoint{Profile: p, Server: s, listener: listener})
	}
	return endpoints, nil
}

// CloseAll closes endpoints that are not served.
func CloseAll(endpoints []Endpoint) {
	for _, e := range endpoints {
		e.Server.Close()
		_ = e.listener.Close()
	}
}

// ServeAll serves the endpoints until ctx is done, closes them, and waits for requests under way, for a second at most.
func ServeAll(ctx context.Context, endpoints []Endpoint) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, e := range endpoints {
		server := &http.Server{Handler: e.Server, ReadHeaderTimeout: 10 * time.Second}
		group.Go(func() error {
			err := server.Serve(e.listener)
			if !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve profile %s: %w", e.Profile.Name, err)
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			e.Server.Close()
			soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = server.Shutdown(soon) // what it leaves, Close ends
			return server.Close()
		})
	}
	return group.Wait()
}
