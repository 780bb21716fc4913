package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Fault is what goes wrong. All fields combine; the zero value of a field is off, the zero Fault is none. The json
// tags are the keys of the control API and of ParseFault.
type Fault struct {
	Hang        bool    `json:"hang,omitzero"`
	Status      int     `json:"status,omitzero"`
	Stall       int     `json:"stall,omitzero"` // an answer with no more tokens is not harmed
	TTFT        float64 `json:"ttft,omitzero"`
	ITL         float64 `json:"itl,omitzero"` // the queueing profiles cannot be made faster than their engine
	WrongAnswer bool    `json:"wrong_answer,omitzero"`
	Degenerate  bool    `json:"degenerate,omitzero"`
	BrokenJSON  bool    `json:"broken_json,omitzero"`
	Probability float64 `json:"probability,omitzero"`
}

// FaultsHelp explains each key of a fault to users.
const FaultsHelp = `  hang              no answer at all
  status            this HTTP status, 400 to 599
  stall             silence after that many tokens
  ttft              time to the first token, multiplied: 1.15 is 15% slower
  itl               times between tokens, multiplied
  wrong_answer      other code words than a canary asks for, other JSON
  broken_json       JSON that ends in the middle
  degenerate        one token again and again, as of logits that are NaN
  probability       share of the requests that are hit; all if not given
`

// ParseFault reads the syntax of a flag, "itl=1.15,stall=10": keys as in JSON. A key alone is true, and an empty
// string is no fault.
func ParseFault(text string) (Fault, error) {
	var fields []string
	for item := range strings.SplitSeq(text, ",") {
		key, value, given := strings.Cut(strings.TrimSpace(item), "=")
		if key == "" {
			continue
		}
		if !given {
			value = "true"
		}
		if !json.Valid([]byte(value)) { // a string, which no key takes
			value = strconv.Quote(value)
		}
		fields = append(fields, fmt.Sprintf("%q:%s", key, value))
	}
	return readFault(strings.NewReader("{" + strings.Join(fields, ",") + "}"))
}

// readFault decodes a JSON object. Unknown keys, wrong types and values out of bounds are errors.
func readFault(r io.Reader) (Fault, error) {
	var f Fault
	strict := json.NewDecoder(r)
	strict.DisallowUnknownFields()
	err := strict.Decode(&f)
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "json: ")
		return Fault{}, fmt.Errorf("fault: %s: prober simulate --help lists the faults", text)
	}
	return f, f.validate()
}

// validate reports the first value that is out of bounds.
func (f Fault) validate() error {
	isFactor := func(v float64) bool { return v == 0 || v >= 0.001 && v <= 1000 }
	switch {
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return errors.New("fault: status: want an error, 400 to 599")
	case f.Stall < 0:
		return errors.New("fault: stall: want a number of tokens")
	case !isFactor(f.TTFT) || !isFactor(f.ITL):
		return errors.New("fault: ttft, itl: want a factor of 0.001 to 1000 (1.15 is 15% slower)")
	case f.Probability < 0 || f.Probability > 1:
		return errors.New("fault: probability: want a share above 0 and at most 1")
	}
	return nil
}

// scale multiplies a duration, where the factor 0 means 1.
func scale(factor float64, d time.Duration) time.Duration {
	if factor == 0 {
		return d
	}
	return time.Duration(math.Round(factor * float64(d)))
}
