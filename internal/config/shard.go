package config

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// A Shard is one of several probers that share the targets. The zero value is
// the only one.
type Shard struct {
	Index int // from 0, below Of
	Of    int // how many there are; 0 for one
}

// maxShards is the most there may be.
const maxShards = 1000

var errShard = errors.New("no shard")

// UnmarshalText reads number/shards.
func (s *Shard) UnmarshalText(text []byte) error {
	index, of, ok := cutShard(string(text))
	if !ok {
		return errShard
	}
	*s = Shard{Index: index, Of: of}
	return nil
}

// String is the shard as it is configured; "" for the zero value.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Owns reports whether the group of that name is the shard's. Of all shards one
// owns it: the one whose score is highest. A shard more takes what it scores
// highest for, and nothing moves between the others (rendezvous hashing, Thaler
// and Ravishankar 1998).
func (s Shard) Owns(group string) bool {
	owner, highest := 0, uint64(0)
	for i := range s.Of {
		if score := score(group, i); score > highest {
			owner, highest = i, score
		}
	}
	return owner == s.Index
}

// score is the weight of a group on a shard: evenly spread, the same in every
// run and every version.
func score(group string, shard int) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(group)) // never fails
	x := hash.Sum64() + (uint64(shard)+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // SplitMix64: FNV alone spreads badly over short names
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// checkShard judges number/shards. What stands before the number, and a hyphen
// after it, is the rest of a pod's name.
func (k key) checkShard(s string) (string, *fault) {
	index, of, ok := cutShard(s)
	switch {
	case !ok:
		return "", &fault{text: "not a shard", hint: k.want}
	case of < 1 || of > maxShards:
		return "", &fault{text: fmt.Sprintf("must be of 1 to %d shards", maxShards), hint: k.want}
	case index >= of:
		return "", &fault{text: fmt.Sprintf("the last of %d shards is %d", of, of-1), hint: k.want}
	}
	return Shard{Index: index, Of: of}.String(), nil
}

// cutShard splits 2/3 or prober-2/3 into 2 and 3.
func cutShard(s string) (index, of int, ok bool) {
	number, shards, cut := strings.Cut(s, "/")
	number = number[strings.LastIndex(number, "-")+1:]
	index, wrong := strconv.Atoi(number)
	of, wrongToo := strconv.Atoi(shards)
	return index, of, cut && !strings.HasPrefix(s, "-") && wrong == nil && wrongToo == nil && index >= 0 && digits(number) == len(number) && digits(shards) == len(shards)
}
