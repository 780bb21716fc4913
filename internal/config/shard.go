package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/usage"
)

// A Shard says which of several probers that share the targets this one is. The zero value is a prober that has all.
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
		return usage.Problem{Text: "must have 1 to 1000 shards"}
	case index >= of:
		return usage.Problem{Text: fmt.Sprintf("the last of %d shards is %d", of, of-1)}
	}
	*s = Shard{Index: int(index), Of: int(of)}
	return nil
}

// String returns the shard as it is configured; "" for the zero value.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}
