package sim

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"
)

// Sizes and ids of the simulated tokenizer.
const (
	pieceRunes = 8      // characters of a word that one token covers
	beginID    = 128000 // beginning of sequence
	endID      = 128009 // end of sequence
	firstID    = 1000   // ordinary tokens have ids in [firstID, firstID+wordIDs)
	wordIDs    = 120000
	blockSize  = 16 // tokens of a block of the prefix cache
)

// appendText adds the tokens of a text: a word of n characters is ⌈n/8⌉ tokens.
func appendText(ids []uint32, text string) []uint32 {
	for word := range strings.FieldsSeq(text) {
		start, runes := 0, 0
		for i := range word {
			if runes == pieceRunes {
				ids = append(ids, idOf(word[start:i]))
				start, runes = i, 0
			}
			runes++
		}
		ids = append(ids, idOf(word[start:]))
	}
	return ids
}

// idOf is the id of a piece of text: the same piece has the same id everywhere.
func idOf(piece string) uint32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(piece)) // never fails
	return firstID + uint32(h.Sum64()%wordIDs)
}

// A prompt is what a model would see: the template's head, texts, the template's tail.
type prompt struct {
	head  []uint32
	texts []string
	tail  []uint32
}

func (p prompt) tokens() []uint32 {
	ids := slices.Clone(p.head)
	for _, text := range p.texts {
		ids = appendText(ids, text)
	}
	return append(ids, p.tail...)
}

// asks reports whether the last 300 bytes of the prompt's text hold a phrase.
func (p prompt) asks(phrase string) bool {
	if len(p.texts) == 0 {
		return false
	}
	last := p.texts[len(p.texts)-1]
	return strings.Contains(strings.ToLower(last[max(0, len(last)-300):]), phrase)
}

// codeWords are the three words of the first sentence "The code words are: A B C." (or "A B C and …") if the text
// asks for them.
func (p prompt) codeWords() []string {
	if !p.asks("code words") {
		return nil
	}
	for _, text := range p.texts {
		_, rest, _ := strings.Cut(text, "The code words are: ")
		sentence, _, ended := strings.Cut(rest[:min(len(rest), 200)], ".")
		if words := strings.Fields(sentence); ended && (len(words) == 3 || len(words) > 3 && words[3] == "and") {
			return words[:3]
		}
	}
	return nil
}

// answerWords is what the simulated model says, over and over: one token each.
var answerWords = strings.Fields(`the river runs past a quiet mill and under an old stone bridge where people stop to
	watch small boats drift along in warm light while birds call from tall trees on the far bank`)

// digest is what the server keeps of a prompt once it has counted it.
type digest struct {
	tokens int
	blocks []uint64 // hashes of the full blocks of blockSize tokens, each over all before it and the salt
	sum    uint64   // hash of the tokens alone
	code   []string // the code words that it asks for; nil: none
}

// digestOf counts and hashes a prompt. The salt keys the first block and by it all others.
func digestOf(p prompt, salt string) digest {
	ids := p.tokens()
	chain, sum := fnv.New64a(), fnv.New64a()
	d := digest{tokens: len(ids), code: p.codeWords()}
	_, _ = io.WriteString(chain, salt) // never fails
	both := io.MultiWriter(chain, sum)
	for block := range slices.Chunk(ids, blockSize) {
		_ = binary.Write(both, binary.LittleEndian, block)
		if len(block) == blockSize {
			d.blocks = append(d.blocks, chain.Sum64())
		}
	}
	d.sum = sum.Sum64()
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
