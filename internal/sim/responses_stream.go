package sim

import "fmt"

// item is a message or the reasoning of a response.
type item struct {
	ID      string     `json:"id"`
	Type    string     `json:"type"`
	Status  string     `json:"status"`
	Content []itemPart `json:"content"`
	Summary *[]string  `json:"summary,omitempty"` // reasoning only
	Role    string     `json:"role,omitempty"`    // message only
}

// itemPart is a part of the kind "output_text" or "reasoning_text".
type itemPart struct {
	Type        string    `json:"type"`
	Annotations *[]string `json:"annotations,omitempty"` // output_text only
	Text        string    `json:"text"`
}

func (a *answer) messageID() string { return fmt.Sprintf("msg_%032x", a.id) }

func (a *answer) reasoningID() string { return fmt.Sprintf("rs_%032x", a.id) }

func (a *answer) messageItem(status string) item {
	return item{
		ID: a.messageID(), Type: "message", Status: status, Role: "assistant",
		Content: []itemPart{{"output_text", &[]string{}, a.content()}},
	}
}

func (a *answer) reasoningItem(status string) item {
	return item{
		ID: a.reasoningID(), Type: "reasoning", Status: status, Summary: &[]string{},
		Content: []itemPart{{Type: "reasoning_text", Text: a.thoughts()}},
	}
}

// respeaking spells the events of one response in their order. It belongs to one goroutine.
type respeaking struct {
	*answer
	next int // sequence number of the next event
}

// event spells an event; fields are what follows its number, a comma before them unless they are empty.
func (r *respeaking) event(name, fields string) []byte {
	number := r.next
	r.next++
	return event(name, fmt.Sprintf(`{"type":"%s","sequence_number":%d%s}`, name, number, fields))
}

// speak sends created and in_progress with acceptance, the first item and its part with the first token.
func (responses) speak(a *answer) script {
	r := &respeaking{answer: a}
	begun := fmt.Sprintf(`,"response":%s`, mustJSON(a.response()))
	s := script{
		prelude: append(r.event("response.created", begun), r.event("response.in_progress", begun)...),
		frame:   r.frame,
		fail: func() []byte {
			return r.event("error", `,"code":"server_error","message":"Simulated fault: the engine failed.","param":null`)
		},
		comment: []byte(": ping\n\n"),
		whole:   func() any { return a.responseEnd() },
	}
	s.opening = r.open(r.thinks(0))
	return s
}

// thinks reports whether token k is reasoning that is shown.
func (r *respeaking) thinks(k int) bool { return r.hidden == 0 && k < r.reasoning }

// item is the item of the reasoning or else of the answer, with all its text.
func (r *respeaking) item(thinking bool, status string) item {
	if thinking {
		return r.reasoningItem(status)
	}
	return r.messageItem(status)
}

// place says where the text of that item is.
func (r *respeaking) place(thinking bool) string {
	id := r.messageID()
	if thinking {
		id = r.reasoningID()
	}
	return fmt.Sprintf(`,"item_id":"%s","output_index":%d,"content_index":0`, id, r.index(thinking))
}

// open begins an item and its part.
func (r *respeaking) open(thinking bool) []byte {
	whole := r.item(thinking, "in_progress")
	part := whole.Content[0]
	part.Text = ""
	whole.Content = []itemPart{}
	out := r.event("response.output_item.added", fmt.Sprintf(`,"output_index":%d,"item":%s`, r.index(thinking), mustJSON(whole)))
	return append(out, r.event("response.content_part.added", fmt.Sprintf(`%s,"part":%s`, r.place(thinking), mustJSON(part)))...)
}

// index is the place of an item in the output.
func (r *respeaking) index(thinking bool) int {
	if !thinking && r.thinks(0) {
		return 1
	}
	return 0
}

// frame has no delta for the invisible end.
func (r *respeaking) frame(from, to int) []byte {
	var out []byte
	thinking := r.thinks(from)
	if !thinking && r.thinks(0) && from == r.reasoning {
		out = append(r.close(true, "completed"), r.open(false)...)
	}
	if text := r.textOf(from, to); text != "" {
		fields := fmt.Sprintf(`%s,"delta":%s`, r.place(thinking), mustJSON(text))
		if !thinking {
			fields += `,"logprobs":[]`
		}
		out = append(out, r.event("response."+textKind(thinking)+".delta", fields)...)
	}
	if to < r.want {
		return out
	}
	end := r.responseEnd()
	out = append(out, r.close(thinking, end.Status)...)
	return append(out, r.event("response."+end.Status, fmt.Sprintf(`,"response":%s`, mustJSON(end)))...)
}

func textKind(thinking bool) string {
	if thinking {
		return "reasoning_text"
	}
	return "output_text"
}

// close ends an item and its part.
func (r *respeaking) close(thinking bool, status string) []byte {
	whole, where := r.item(thinking, status), r.place(thinking)
	part := whole.Content[0]
	out := r.event("response."+textKind(thinking)+".done", fmt.Sprintf(`%s,"text":%s`, where, mustJSON(part.Text)))
	out = append(out, r.event("response.content_part.done", fmt.Sprintf(`%s,"part":%s`, where, mustJSON(part)))...)
	return append(out, r.event("response.output_item.done", fmt.Sprintf(`,"output_index":%d,"item":%s`, r.index(thinking), mustJSON(whole)))...)
}
