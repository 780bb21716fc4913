package prompt

import (
	"math/rand/v2"
	"strings"
)

// words are common English nouns of at most eight letters: with the space before it each is one token in
// every large vocabulary. The list is only read.
var words = strings.Fields(`
time year people way day man thing woman life child world school state family student group country problem hand part
place case week company system program question work number night point home water room mother area money story fact
month lot right study book eye job word business issue side kind head house service friend father power hour game line
end member law car city name team minute idea body back parent face others level office door health person art history
party result change morning reason research girl guy moment air teacher force foot boy age policy music market sense
nation plan college interest effect use class control care field role effort rate heart show leader light voice wife
police mind price report decision son view town road arm value building action season society tax director position
player record paper space ground form event official matter center couple site project activity star table need court
oil cost industry figure street image phone data picture practice piece land product doctor wall patient worker news
test movie north love support step baby computer type film tree source hair window culture chance brother energy
period course summer plant term letter choice rule south husband floor campaign material call economy hospital church
risk fire future defense security bank west sport board subject officer rest behavior fight top goal bed order author
agency nature color store sound movement page race concern series language response animal factor decade article east
artist scene stock career approach size dog fund media sign thought list
`)

const (
	head = "Words:" // before the words, so that each has a space before it and costs the same
	pad  = " a"     // a word that costs as little as a word can

	// tail asks for an answer that has no natural end, for servers that cannot be told to ignore one;
	// shortTail does so in short prompts.
	tail      = "\n\nCount upwards from one in English words, separated by single spaces, and do not stop."
	shortTail = "\n\nCount upwards forever:"
)

// ending is the tail of a prompt of so many tokens, and a first guess of the tokens beside its words: those of
// the tail and a chat template.
func ending(tokens int) (text string, beside int) {
	if tokens < 64 {
		return shortTail, 10
	}
	return tail, 40
}

// plainTerms are those of a prompt of so many words at least, before any count. The first one has every word
// of the list at most once, and an eighth of the words that the whole prompt may have: even where a word is
// eight tokens, that is not too long.
func plainTerms(tokens, least int) terms {
	_, beside := ending(tokens)
	whole := max(1, tokens-beside)
	return terms{want: tokens, first: max(least, min(whole, len(words), tokens/8)), whole: whole, least: least, most: tokens + tokens/2}
}

// shuffled is n words of the list, as their places in it, in an order that seed and nonce decide. Those of
// one n are always the same words, whatever the order: tokenizers split text at white space before anything
// else, so all such texts count the same.
func shuffled(n int, seed, nonce uint64) []byte {
	order := make([]byte, n)
	for i := range order {
		order[i] = byte(i % len(words))
	}
	rand.New(rand.NewPCG(seed, nonce)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// spaced is words of the list, a space before each, between a start and an end.
func spaced(start string, order []byte, end string) string {
	var b strings.Builder
	b.Grow(len(start) + 7*len(order) + len(end)) // a word and its space are 6.2 bytes on average
	b.WriteString(start)
	for _, at := range order {
		b.WriteByte(' ')
		b.WriteString(words[at])
	}
	b.WriteString(end)
	return b.String()
}

// listed is a text of a size: the head, words in an order that seed and nonce decide, pads, and an end.
func listed(s size, seed, nonce uint64, end string) string {
	return spaced(head, shuffled(s.words, seed, nonce), strings.Repeat(pad, s.pads)+end)
}

// fields is the number of white-space separated words of s.
func fields(s string) int {
	n := 0
	for range strings.FieldsSeq(s) {
		n++
	}
	return n
}

var (
	small = strings.Fields(`zero one two three four five six seven eight nine ten eleven twelve thirteen
		fourteen fifteen sixteen seventeen eighteen nineteen`)
	tens = strings.Fields("zero ten twenty thirty forty fifty sixty seventy eighty ninety")
)

// counting is the first n words of one two three and so on.
func counting(n int) string {
	spelt := make([]string, 0, n+8)
	for i := 1; len(spelt) < n; i++ {
		spelt = spell(spelt, i)
	}
	return strings.Join(spelt[:n], " ")
}

// spell appends n, from 1 to 999999, in English words.
func spell(to []string, n int) []string {
	if n >= 1000 {
		to, n = append(spell(to, n/1000), "thousand"), n%1000
	}
	if n >= 100 {
		to, n = append(to, small[n/100], "hundred"), n%100
	}
	if n >= 20 {
		to, n = append(to, tens[n/10]), n%10
	}
	if n > 0 {
		to = append(to, small[n])
	}
	return to
}
