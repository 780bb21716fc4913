package sim

import "sync"

// FNV-1a, 64 bits.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// digest is what the server keeps of a prompt once it has counted it.
type digest struct {
	tokens int
	blocks []uint64 // hashes of the full blocks of blockSize tokens, each over all before it and the salt
	sum    uint64   // hash of the tokens alone
	code   []string // the code words that it asks for; nil: none
}

// digestOf counts and hashes a prompt. The salt keys the first block and by it all others.
func digestOf(ids []uint32, salt string) digest {
	chain := uint64(fnvOffset)
	for i := range len(salt) {
		chain = (chain ^ uint64(salt[i])) * fnvPrime
	}
	d := digest{sum: fnvOffset}
	for _, id := range ids {
		chain = (chain ^ uint64(id)) * fnvPrime
		d.sum = (d.sum ^ uint64(id)) * fnvPrime
		d.tokens++
		if d.tokens%blockSize == 0 {
			d.blocks = append(d.blocks, chain)
		}
	}
	return d
}

// prefixCache remembers at most 2·limit blocks of recent prompts. It is safe for concurrent use.
type prefixCache struct {
	limit int

	mu         sync.Mutex
	young, old map[uint64]struct{} // guarded by mu
}

func newPrefixCache(limit int) *prefixCache {
	return &prefixCache{limit: limit, young: map[uint64]struct{}{}}
}

// visit makes blocks recent ones and returns how many of the leading ones already were.
func (c *prefixCache) visit(blocks []uint64) (known int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, block := range blocks {
		_, young := c.young[block]
		_, old := c.old[block]
		if known == i && (young || old) {
			known++
		}
		if young {
			continue
		}
		if len(c.young) >= c.limit {
			c.young, c.old = map[uint64]struct{}{}, c.young
		}
		c.young[block] = struct{}{}
	}
	return known
}
