package config

import "testing"

func TestShards(t *testing.T) {
	for text, want := range map[string]Shard{
		"": {}, "0/1": {Index: 0, Of: 1}, "2/3": {Index: 2, Of: 3}, "prober-2/3": {Index: 2, Of: 3},
		"my-llm-prober-11/12": {Index: 11, Of: 12}, "007/8": {Index: 7, Of: 8}, "999/1000": {Index: 999, Of: 1000},
	} {
		if got := load(t, Options{Environ: withTarget("SHARD=" + text)}).Shard; got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}
