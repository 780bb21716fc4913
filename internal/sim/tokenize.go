package sim

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
)

// The routes with which clients count tokens, one a family of servers.

// tokenizePrompt is the prompt of a /tokenize request, which is that of chat or completions.
func tokenizePrompt(body io.Reader) (prompt, *refusal) {
	var r struct {
		Messages []message `json:"messages"`
		Prompt   *string   `json:"prompt"`
		Special  *bool     `json:"add_special_tokens"`
	}
	switch err := json.NewDecoder(body).Decode(&r); {
	case err != nil:
		return prompt{}, bad("", "Invalid JSON body: %v", err)
	case len(r.Messages) > 0:
		return chatPrompt(texts(r.Messages)), nil
	case r.Prompt == nil:
		return prompt{}, bad("prompt", "Either prompt or messages is required.")
	case r.Special != nil && !*r.Special:
		return prompt{texts: []string{*r.Prompt}}, nil
	}
	return plainPrompt(*r.Prompt), nil
}

// tokenize is vLLM's: a prompt or messages.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	p, refused := tokenizePrompt(http.MaxBytesReader(w, r.Body, openAIBodyLimit))
	if refused != nil {
		s.refuse(w, refused)
		return
	}
	ids := slices.AppendSeq([]uint32{}, p.tokens())
	writeJSON(w, http.StatusOK, struct {
		Count       int      `json:"count"`
		MaxModelLen int      `json:"max_model_len"`
		Tokens      []uint32 `json:"tokens"`
		TokenStrs   []string `json:"token_strs"`
	}{len(ids), s.config.Profile.MaxModelLen, ids, nil})
}

// tokenizeText is Ray Serve's: vLLM's with a prompt only.
func (s *Server) tokenizeText(w http.ResponseWriter, r *http.Request) {
	body, ok := s.fields(w, r)
	if !ok {
		return
	}
	if _, chat := body["messages"]; chat {
		s.refuse(w, bad("prompt", "Field required: prompt."))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(mustJSON(body)))
	s.tokenize(w, r)
}

// tokenizeSGLang is SGLang's: a prompt only, and another answer.
func (s *Server) tokenizeSGLang(w http.ResponseWriter, r *http.Request) {
	body, ok := s.fields(w, r)
	if !ok {
		return
	}
	delete(body, "messages")
	p, refused := tokenizePrompt(bytes.NewReader(mustJSON(body)))
	if refused != nil {
		s.refuse(w, refused)
		return
	}
	s.tellSGLang(w, p)
}

// tellSGLang answers with the tokens of a prompt as SGLang's server does, on its own API and on OpenAI's alike.
func (s *Server) tellSGLang(w http.ResponseWriter, p prompt) {
	ids := slices.AppendSeq([]uint32{}, p.tokens())
	writeJSON(w, http.StatusOK, struct {
		Tokens      []uint32 `json:"tokens"`
		Count       int      `json:"count"`
		MaxModelLen int      `json:"max_model_len"`
	}{ids, len(ids), s.config.Profile.MaxModelLen})
}

// tokenizeLlama is llama-server's.
func (s *Server) tokenizeLlama(w http.ResponseWriter, r *http.Request) {
	var q llamaCount
	body, ok := s.fields(w, r)
	if !ok {
		return
	}
	if json.Unmarshal(mustJSON(body), &q) != nil {
		s.refuse(w, bad("content", "content must be a text."))
		return
	}
	q.tell(w)
}

// llamaCount is what llama-server's /tokenize is asked, on its own API and on OpenAI's alike.
type llamaCount struct {
	Content string `json:"content"`
	Special bool   `json:"add_special"`
}

// tell answers: no begin of sequence unless add_special asks for it.
func (q llamaCount) tell(w http.ResponseWriter) {
	p := prompt{texts: []string{q.Content}}
	if q.Special {
		p = plainPrompt(q.Content)
	}
	writeJSON(w, http.StatusOK, map[string][]uint32{"tokens": slices.AppendSeq([]uint32{}, p.tokens())})
}

// encode is LMDeploy's: begin of sequence unless add_bos says no.
func (s *Server) encode(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Input *string `json:"input"`
		Begin *bool   `json:"add_bos"`
	}
	body, ok := s.fields(w, r)
	if !ok {
		return
	}
	if json.Unmarshal(mustJSON(body), &q) != nil || q.Input == nil {
		s.refuse(w, bad("input", "input must be a text."))
		return
	}
	p := plainPrompt(*q.Input)
	if !orElse(q.Begin, true) {
		p.head = nil
	}
	ids := slices.AppendSeq([]uint32{}, p.tokens())
	writeJSON(w, http.StatusOK, struct {
		IDs    []uint32 `json:"input_ids"`
		Length int      `json:"length"`
	}{ids, len(ids)})
}

// tgiChatTokenize is TGI's: the body of a chat, the template applied.
func (s *Server) tgiChatTokenize(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []message `json:"messages"`
	}
	body, ok := s.fields(w, r)
	if !ok {
		return
	}
	if json.Unmarshal(mustJSON(body), &q) != nil || len(q.Messages) == 0 {
		s.refuse(w, bad("messages", "Failed to deserialize the JSON body into the target type: missing field `messages`"))
		return
	}
	type piece struct {
		ID    uint32 `json:"id"`
		Text  string `json:"text"`
		Start int    `json:"start"`
		Stop  int    `json:"stop"`
	}
	p := chatPrompt(texts(q.Messages))
	pieces := []piece{}
	templated := ""
	for _, id := range p.head {
		pieces = append(pieces, piece{ID: id})
	}
	for _, text := range p.texts {
		for at := range spans(text) {
			word := text[at.start:at.stop]
			pieces = append(pieces, piece{idOf(word), word, len(templated) + at.start, len(templated) + at.stop})
		}
		templated += text
	}
	for _, id := range p.tail {
		pieces = append(pieces, piece{ID: id, Start: len(templated), Stop: len(templated)})
	}
	writeJSON(w, http.StatusOK, struct {
		Pieces []piece `json:"tokenize_response"`
		Text   string  `json:"templated_text"`
	}{pieces, templated})
}

// fields are those of a request's body; ok is false when that was refused already.
func (s *Server) fields(w http.ResponseWriter, r *http.Request) (fields map[string]json.RawMessage, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.kind.limit))
	if err == nil {
		fields = fieldsOf(body)
	}
	if fields == nil {
		s.refuse(w, bad("", "Invalid JSON body."))
		return nil, false
	}
	return fields, true
}

func (s *Server) refuse(w http.ResponseWriter, r *refusal) { openAI{kind: s.kind}.refuse(*r).write(w) }
