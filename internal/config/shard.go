package config

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/usage"
)

// A Shard is one of several probers that share the targets. The zero value is the only one.
type Shard struct {
	Index int // from 0, below Of
	Of    int // how many there are; 0 for one
}

// UnmarshalText reads 2/3 or, with the name of a pod, prober-2/3.
func (s *Shard) UnmarshalText(text []byte) error {
	number, shards, cut := strings.Cut(string(text), "/")
	hyphen := strings.LastIndex(number, "-")
	index, err := strconv.ParseUint(number[hyphen+1:], 10, 31)
	of, errOf := strconv.ParseUint(shards, 10, 31)
	switch {
	case !cut || hyphen == 0 || err != nil || errOf != nil:
		return usage.Problem{Text: "not a shard"}
	case of < 1 || of > 1000:
		return usage.Problem{Text: "must be of 1 to 1000 shards"}
	case index >= of:
		return usage.Problem{Text: fmt.Sprintf("the last of %d shards is %d", of, of-1)}
	}
	*s = Shard{Index: int(index), Of: int(of)}
	return nil
}

// String is the shard as it is configured; "" for the zero value.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Owns reports whether the shard owns a group: the one with the highest score does, so that a further shard moves nothing
// between the others (rendezvous hashing). Scores are the same in every run and every version.
func (s Shard) Owns(group string) bool {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(group)) // never fails
	owner, highest := 0, uint64(0)
	for i := range s.Of {
		x := hash.Sum64() + (uint64(i)+1)*0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // SplitMix64: FNV alone spreads badly over short names
		x = (x ^ x>>27) * 0x94d049bb133111eb
		if score := x ^ x>>31; score > highest {
			owner, highest = i, score
		}
	}
	return owner == s.Index
}
