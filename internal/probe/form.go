package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/wire"
)

// judgeForm compares the JSON of an answer with what was asked for, field by field. A verdict names fields of the
// schema, and nothing that the model wrote.
func (x *exchange) judgeForm(ending wire.Ending) verdict {
	form := x.question.Ask.Form
	answer := x.answer.form
	switch {
	case form.IsCall && !answer.isCall:
		const text = "the answer calls no function, although the call of %s is required"
		return failure(WrongAnswer, ReasonNoToolCall, text, form.Name)
	case form.IsCall && answer.function != form.Name:
		return failure(WrongAnswer, ReasonOtherFunctionCalled, "the answer calls another function than %s", form.Name)
	}

	whose, object := "answer", answer.text
	if form.IsCall {
		whose, object = "call", answer.arguments
	}
	fields, ok := readObject(object)
	switch {
	case !ok && ending == wire.AtLimit:
		const text = "the %s's JSON is not whole: the limit of %d tokens cut it"
		return failure(WrongAnswer, ReasonNotJSON, text, whose, x.question.Ask.MaxTokens)
	case !ok:
		return failure(WrongAnswer, ReasonNotJSON, "the %s's JSON cannot be read", whose)
	}
	wrong := wrongFields(fields, x.question.Expect.Values)
	if len(wrong) > 0 {
		const text = "the %s's JSON is not what was asked for: %s"
		return failure(WrongAnswer, ReasonWrongField, text, whose, strings.Join(wrong, ", "))
	}
	return verdict{outcome: OK}
}

// readObject returns the fields of a text that is one JSON object and nothing else.
func readObject(text []byte) (fields map[string]any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&fields)
	_, end := decoder.Token()
	return fields, err == nil && fields != nil && end == io.EOF
}

// wrongFields says which fields differ from the values that they must have. Upper and lower case, and space around a
// text, are the same.
func wrongFields(fields, want map[string]any) (wrong []string) {
	known := 0
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, isThere := fields[name]
		if isThere {
			known++
		}
		isRight := value == want[name]
		text, isText := value.(string)
		wanted, isWanted := want[name].(string)
		if isText && isWanted {
			isRight = strings.EqualFold(strings.TrimSpace(text), wanted)
		}
		switch {
		case !isThere:
			wrong = append(wrong, name+" is missing")
		case !isRight:
			wrong = append(wrong, name+" is wrong")
		}
	}
	if more := len(fields) - known; more > 0 {
		wrong = append(wrong, fmt.Sprintf("%d beyond those of the schema", more))
	}
	return wrong
}

// A keptForm is what is judged of an answer in a form: its text without reasoning, and its first call of a function.
// Later calls are not judged: most servers cannot be told to make only one. Text and arguments are kept up to maxText.
type keptForm struct {
	isAsked bool // nothing is kept of other answers
	text    []byte

	isCall    bool
	index     int
	function  string
	arguments []byte
	isOver    bool // a later call has begun
}

// add adds the text and the pieces of calls that a frame has.
func (k *keptForm) add(text []byte, pieces []wire.CallPiece) {
	if !k.isAsked {
		return
	}
	if len(k.text)+len(text) < maxText {
		k.text = append(k.text, text...)
	}
	for _, p := range pieces {
		switch {
		case !k.isCall:
			k.isCall = true
			k.index = p.Index
		case p.Index != k.index:
			continue
		case p.Name != "" && json.Valid(k.arguments): // another call without an index, as some gateways send it
			k.isOver = true
		}
		if k.isOver || len(k.arguments)+len(p.Arguments) >= maxText {
			return
		}
		if p.Name != k.function { // some servers repeat it in every piece
			k.function += p.Name
		}
		k.arguments = append(k.arguments, p.Arguments...)
	}
}
