package main

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestTurns(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name string
		busy time.Duration // how long each is at it
		want []time.Duration
	}{
		{"two at a time", s, []time.Duration{0, 0, s, s, 2 * s}},
		{"those who hang", 100 * s, []time.Duration{0, 0, 30 * s, 30 * s, 30 * s}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, all := time.Now(), make(chan time.Duration, len(test.want))
				at := make(turns, 2)
				for range test.want {
					go func() {
						defer at.take(t.Context(), 30*s)()
						all <- time.Since(began)
						time.Sleep(test.busy)
					}()
				}
				var got []time.Duration
				for range test.want {
					got = append(got, <-all)
				}
				if slices.Sort(got); !slices.Equal(got, test.want) {
					t.Errorf("began after %v, want %v", got, test.want)
				}
				time.Sleep(test.busy)
				synctest.Wait()
				if len(at) != 0 {
					t.Errorf("%d turns were not given back", len(at))
				}
			})
		})
	}
}

func TestTurnsEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		at, began := make(turns, 1), time.Now()
		defer at.take(ctx, time.Minute)()
		at.take(ctx, time.Minute)()
		if took := time.Since(began); took != time.Second {
			t.Errorf("waited %v, want a second", took)
		}
	})
}
