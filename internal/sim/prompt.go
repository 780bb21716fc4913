package sim

import (
	"hash/fnv"
	"io"
	"regexp"
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
	blocks  []uint64  // hashes of the full blocks of blockSize tokens, each over all before it and the salt
	hash    uint64    // of the salt and all tokens
	code    []string  // code words that the answer is to begin with, those of each part of the text; nil: none
	values  [3]string // two words and a truth value that the text asks for as JSON; empty: none
	endless bool      // it asks for an answer without an end
}

// newPrompt tokenizes and hashes a text between the two parts of a template.
func newPrompt(before, text, after, salt string) prompt {
	p := prompt{code: codeWords(text), values: valuesIn(text), endless: strings.HasSuffix(text, "do not stop.")}
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

// codeSentence matches "The code words are: a b c and no others", or the same of a part of the text.
var codeSentence = regexp.MustCompile(`The code words (?:of part \d+ )?are: ([\w ]{1,200}?) and no others`)

// codeWords returns the words of all such sentences of a text; nil if it has none.
func codeWords(text string) (words []string) {
	for _, found := range codeSentence.FindAllStringSubmatch(text, -1) {
		words = append(words, strings.Fields(found[1])...)
	}
	return words
}

// valuesIn returns the values that the end of a text asks for as JSON.
func valuesIn(text string) (values [3]string) {
	const most = 200 // bytes of what asks for them
	found := valueSentence.FindStringSubmatch(text[max(0, len(text)-most):])
	if found != nil {
		copy(values[:], found[1:])
	}
	return values
}

var valueSentence = regexp.MustCompile(`first is (\w+) and second is (\w+) and final is (\w+) and not`)

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
