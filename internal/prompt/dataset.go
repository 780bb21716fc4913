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

// datasetPrompt returns a prompt of the data set: one after another, and then again. Each is a conversation that ends
// with the user.
func datasetPrompt(o Options, round uint64) Prompt {
	turns := o.Dataset[round%uint64(len(o.Dataset))]
	last := len(turns) - 1
	p := Prompt{Turns: turns[:last:last], Text: turns[last].Text}
	p.Words = p.words()
	p.Repeated = p.Words // once all were sent
	return p
}

const maxErrors = 10 // of a file that is wrong

// ParseDataset reads JSON lines, each an object with a prompt, a text or the messages of a conversation that ends with
// the user; other keys are ignored. The error names the wrong lines, ten at most, and never quotes them.
func ParseDataset(data []byte) (conversations [][]wire.Turn, err error) {
	var wrong []error
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		turns, err := parseEntry(line)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", number, err))
		}
		conversations = append(conversations, turns)
	}
	switch {
	case len(wrong) > maxErrors:
		more := fmt.Errorf("and %d lines more", len(wrong)-maxErrors)
		return nil, errors.Join(append(wrong[:maxErrors], more)...)
	case len(wrong) > 0:
		return nil, errors.Join(wrong...)
	case len(conversations) == 0:
		return nil, errors.New("the data set holds no prompts")
	}
	return conversations, nil
}

// parseEntry parses a line. Its errors do not quote it.
func parseEntry(line []byte) ([]wire.Turn, error) {
	var entry struct {
		Prompt   *string     `json:"prompt"`
		Text     *string     `json:"text"`
		Messages []wire.Turn `json:"messages"`
	}
	err := json.Unmarshal(line, &entry)
	if err != nil {
		wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
		switch {
		case !ok:
			return nil, errors.New("not JSON")
		case wrong.Field == "":
			return nil, fmt.Errorf("want an object, not %s", wrong.Value)
		}
		return nil, fmt.Errorf("%s: cannot be of the type %s", wrong.Field, wrong.Value)
	}
	text := cmp.Or(entry.Prompt, entry.Text)
	switch {
	case entry.Messages != nil && text == nil:
		return entry.Messages, checkConversation(entry.Messages)
	case entry.Messages != nil || text == nil || entry.Prompt != nil && entry.Text != nil:
		return nil, errors.New("want one of prompt, text and messages")
	case strings.TrimSpace(*text) == "":
		return nil, errors.New("the prompt is empty")
	}
	return []wire.Turn{{Role: "user", Text: *text}}, nil
}

// checkConversation returns what is wrong with a conversation.
func checkConversation(turns []wire.Turn) error {
	for i, turn := range turns {
		switch {
		case turn.Role != "system" && turn.Role != "user" && turn.Role != "assistant":
			return fmt.Errorf("message %d: want the role system, user or assistant", i+1)
		case strings.TrimSpace(turn.Text) == "":
			return fmt.Errorf("message %d: has no content", i+1)
		}
	}
	if len(turns) == 0 || turns[len(turns)-1].Role != "user" {
		return errors.New("want messages that end with one of the user")
	}
	return nil
}
