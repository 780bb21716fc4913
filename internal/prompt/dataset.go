package prompt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/llm-prober/prober/internal/wire"
)

// An Entry is one prompt of a data set.
type Entry struct {
	Turns []wire.Turn // the conversation before Text; may be empty
	Text  string      // what the user says now, never empty
}

// dataset is prompts of a file, one after another and then again.
type dataset []Entry

func (d dataset) place(round uint64) (shape int, nonce uint64) { return 0, round }

func (d dataset) begin(int, []observation) terms { return terms{} }

func (d dataset) write(p *Prompt, nonce uint64, _ []observation) {
	e := d[nonce%uint64(len(d))]
	p.Turns, p.Text = e.Turns, e.Text
}

// maxErrors is how many wrong lines of a data set are reported.
const maxErrors = 10

// ParseDataset reads a data set: JSON lines, each an object with a prompt, a text or the messages of a
// conversation that ends with the user. Blank lines are skipped and other keys ignored. The error names the
// wrong lines, ten at most, and never quotes them. A file without prompts is an error.
func ParseDataset(data []byte) ([]Entry, error) {
	var entries []Entry
	var wrong []error
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		entry, err := parseEntry(line)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", number, err))
		}
		entries = append(entries, entry)
	}
	switch {
	case len(wrong) > maxErrors:
		return nil, errors.Join(append(wrong[:maxErrors:maxErrors], fmt.Errorf("and %d lines more", len(wrong)-maxErrors))...)
	case len(wrong) > 0:
		return nil, errors.Join(wrong...)
	case len(entries) == 0:
		return nil, errors.New("the data set holds no prompts")
	}
	return entries, nil
}

// A line is what a line of a data set may hold.
type line struct {
	Prompt   *string `json:"prompt"`
	Text     *string `json:"text"`
	Messages []struct {
		Role    string  `json:"role"`
		Content *string `json:"content"`
	} `json:"messages"`
}

func parseEntry(data []byte) (Entry, error) {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return Entry{}, misshapen(err)
	}
	text := cmp.Or(l.Prompt, l.Text)
	switch {
	case l.Messages != nil && text == nil:
		return l.conversation()
	case l.Messages != nil || text == nil || l.Prompt != nil && l.Text != nil:
		return Entry{}, errors.New("want one of prompt, text and messages")
	case strings.TrimSpace(*text) == "":
		return Entry{}, errors.New("the prompt is empty")
	}
	return Entry{Text: *text}, nil
}

func (l line) conversation() (Entry, error) {
	var turns []wire.Turn
	for i, m := range l.Messages {
		switch {
		case m.Role != "system" && m.Role != "user" && m.Role != "assistant":
			return Entry{}, fmt.Errorf("message %d: want the role system, user or assistant", i+1)
		case m.Content == nil || strings.TrimSpace(*m.Content) == "":
			return Entry{}, fmt.Errorf("message %d: has no content", i+1)
		}
		turns = append(turns, wire.Turn{Role: m.Role, Text: *m.Content})
	}
	last := len(turns) - 1
	if last < 0 || turns[last].Role != "user" {
		return Entry{}, errors.New("want messages that end with one of the user")
	}
	return Entry{Turns: turns[:last:last], Text: turns[last].Text}, nil
}

// misshapen says why a line could not be parsed, without quoting it.
func misshapen(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return errors.New("not JSON")
	case wrong.Field == "":
		return fmt.Errorf("want an object, not %s", wrong.Value)
	}
	return fmt.Errorf("%s: cannot be of the type %s", wrong.Field, wrong.Value)
}
