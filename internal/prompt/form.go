package prompt

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/wire"
)

const (
	formWords = 8 // words of the list, the first ones, that can be values; the schema names them
	formName  = "report"
	formAbout = "Reports two words, and true or false."

	toolTail = "\n\nCall the function report once. Its arguments are:" + valuesTail
	jsonTail = "\n\nAnswer with one JSON object that has these values:" + valuesTail

	// All that differs stands between blanks, and true and false are both there: so each prompt counts the same.
	valuesTail = " first is %s and second is %s and final is %t and not %t and nothing else."
)

// formPrompt writes a cold prompt that asks for JSON with two words and a truth value: as the arguments of a call of a
// function, or as the text of the answer. The values follow from the nonce. The two words are taken out of those that
// the prompt is made of.
func formPrompt(o Options, nonce uint64, s Size) Prompt {
	order := shuffledWords(s.Words, o.Seed, nonce)
	random := rand.New(rand.NewPCG(^o.Seed, nonce))
	var values [2]string
	candidates := random.Perm(min(len(order), formWords))
	for i := range values {
		word := byte(candidates[i])
		values[i] = wordList[word]
		at := slices.Index(order, word)
		order = slices.Delete(order, at, at+1)
	}
	final := random.IntN(2) == 1
	tail := jsonTail
	if o.Workload == Tool {
		tail = toolTail
	}
	asked := fmt.Sprintf(tail, values[0], values[1], final, !final)
	return Prompt{
		Tokens: o.Tokens,
		Salt:   salt(o.Seed, nonce),
		Text:   joinWords(listHead, order, strings.Repeat(padWord, s.Pads)+asked),
		Form:   o.form(),
		Values: map[string]any{"first": values[0], "second": values[1], "final": final},
	}
}

// form returns the form of the answers to the workloads tool and json. It is the same for all prompts, because engines
// compile a new schema while the first token waits. Each field has few values, so that even a model that talks nonsense
// comes to an end if the server keeps it to the schema. All fields are required and no others allowed, as the strict
// mode of OpenAI wants it.
func (o Options) form() *wire.Form {
	words, _ := json.Marshal(wordList[:formWords]) // texts can always be encoded
	schema := fmt.Sprintf(`{"type":"object","properties":{"first":{"type":"string","enum":%[1]s},`+
		`"second":{"type":"string","enum":%[1]s},"final":{"type":"boolean"}},`+
		`"required":["first","second","final"],"additionalProperties":false}`, words)
	return &wire.Form{IsCall: o.Workload == Tool, Name: formName, About: formAbout, Schema: json.RawMessage(schema)}
}
