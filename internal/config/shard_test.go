package config

import (
	"testing"
)

func TestShards(t *testing.T) {
	for text, want := range map[string]Shard{
		"0/1":                 {Index: 0, Of: 1},
		"999/1000":            {Index: 999, Of: 1000},
		"007/8":               {Index: 7, Of: 8},
		"my-llm-prober-11/12": {Index: 11, Of: 12},
	} {
		var got Shard
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":             "not a shard",
		"3":            "not a shard",
		"-1/3":         "not a shard",
		"prober-abc/3": "not a shard",
		"0/0":          "must have 1 to 1000 shards",
		"0/1001":       "must have 1 to 1000 shards",
		"3/3":          "the last of 3 shards is 2",
	} {
		var got Shard
		if err := got.UnmarshalText([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: got %+v, %v, want %s", text, got, err, want)
		}
	}
}
