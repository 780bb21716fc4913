package sim

import (
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"
)

const (
	wordBytes = 8  // of a word that one token covers
	blockSize = 16 // tokens of a block of the prefix cache
)

// A prompt is what the simulated server keeps of the text that its model would see.
type prompt struct {
	tokens  int
	blocks  []uint64 // hashes of the full blocks of blockSize tokens, each over all before it and the salt
	hash    uint64   // of the salt and all tokens
	code    []string // three code words that the answer is to begin with; nil: none
	endless bool     // it asks for an answer without an end
}

// newPrompt tokenizes and hashes a text between the two parts of a template.
func newPrompt(before, text, after, salt string) prompt {
	p := prompt{code: codeWords(text), endless: strings.HasSuffix(text, "do not stop.")}
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, salt) // never fails
	for word := range strings.FieldsSeq(before + " " + text + " " + after) {
		for token := range slices.Chunk([]byte(word), wordBytes) {
			_, _ = hash.Write(append(token, ' '))
			p.tokens++
			if p.tokens%blockSize == 0 {
				p.blocks = append(p.blocks, hash.Sum64())
			}
		}
	}
	p.hash = hash.Sum64()
	return p
}

// codeWords returns the three words after "The code words are: ", or nil if the text has no such sentence.
func codeWords(text string) []string {
	const most = 200 // bytes of the words
	_, rest, _ := strings.Cut(text, "The code words are: ")
	words := strings.Fields(rest[:min(len(rest), most)])
	return words[:min(len(words), 3)]
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
