package engine

import (
	"hash/fnv"

	"github.com/llm-prober/prober/internal/config"
)

// owns reports whether a shard owns a group: the one with the highest score does, so that a further shard moves nothing
// between the others (rendezvous hashing). Scores are the same in every run and every version.
func owns(s config.Shard, group string) bool {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(group)) // never fails
	owner, highest := 0, uint64(0)
	for i := range s.Of {
		x := hash.Sum64() + (uint64(i)+1)*0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // SplitMix64: FNV alone spreads badly over short names
		x = (x ^ x>>27) * 0x94d049bb133111eb
		score := x ^ x>>31
		if score > highest {
			owner, highest = i, score
		}
	}
	return owner == s.Index
}
