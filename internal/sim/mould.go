package sim

import "strconv"

// A mould is a token frame of an answer, its parts in order, with all filled in that is the same in every such frame: so
// little is left to do for each.
type mould []part

// part is a text, and the name of the hole behind it; empty: none.
type part struct{ text, hole string }

// moulds are those of the token frames of an answer that are neither its first nor its last.
type moulds struct{ said, thought mould }

// mouldOf is the mould of such frames, made when first needed.
func (s *encoder) mouldOf(thought bool) mould {
	m, delta := &s.moulds.said, s.how.delta
	if thought {
		m, delta = &s.moulds.thought, s.how.thought
	}
	if len(*m) == 0 {
		m.fill(s.chunk, func(name string) bool { return s.cast(m, delta, name) })
		m.write("\n\n")
	}
	return *m
}

// cast puts into a mould what hole has for a name. It returns false for what differs from frame to frame, which stays open.
func (s *encoder) cast(m *mould, delta, name string) bool {
	inner := func(name string) bool { return s.cast(m, delta, name) }
	switch name {
	case "choice":
		m.fill(s.how.token, inner)
	case "delta":
		m.fill(delta, inner)
	case "usage":
		s.castCount(m)
	case "text", "ids", "padding", "timings", "elapsed":
		return false
	default:
		m.write(s.hole(filling{}, name))
	}
	return true
}

// castCount is count, with the counts left open.
func (s *encoder) castCount(m *mould) {
	if !s.continuous || s.how.running == "" {
		m.write(s.count(0))
		return
	}
	m.write(`,"usage":`)
	m.fill(s.how.running, func(name string) bool {
		switch name {
		case "completion", "total", "thought":
			return false
		}
		m.write(s.countOf("$"+name, 0))
		return true
	})
}

// fill adds a template; hole adds what a name stands for, or reports that it is to be left open.
func (m *mould) fill(template string, hole func(name string) bool) {
	for text, name := range parts(template) {
		m.write(text)
		if name != "" && !hole(name) {
			(*m)[len(*m)-1].hole = name
			*m = append(*m, part{})
		}
	}
}

// write adds a text.
func (m *mould) write(text string) {
	if len(*m) == 0 {
		*m = mould{{}}
	}
	(*m)[len(*m)-1].text += text
}

// pour appends the frame of a mould with its holes filled.
func (s *encoder) pour(b []byte, m mould, c filling) []byte {
	for _, p := range m {
		b = append(b, p.text...)
		switch p.hole {
		case "":
		case "text":
			b = s.appendText(b, c.from, c.to)
		case "completion":
			b = strconv.AppendInt(b, int64(s.counted(c.to)), 10)
		case "total":
			b = strconv.AppendInt(b, int64(s.prompt.tokens+s.counted(c.to)), 10)
		case "thought":
			b = strconv.AppendInt(b, int64(min(s.counted(c.to), s.reasoning)), 10)
		default:
			b = append(b, s.hole(c, p.hole)...)
		}
	}
	return b
}

// appendText appends the text of the tokens [from, to) as JSON has it.
func (s *encoder) appendText(b []byte, from, to int) []byte {
	begin := len(b)
	b = append(b, '"')
	for k := from; k < to; k++ {
		b = s.spell(b, k)
	}
	if isPlain(b[begin+1:]) {
		return append(b, '"')
	}
	return append(b[:begin], mustJSON(string(b[begin+1:]))...)
}
