package wire

import (
	"encoding/json"
	"testing"
)

// A chunk is what a library reads of a frame: the few fields of the four kinds of
// frames that are compared, and no others of all that [decodeChunk], [sglang] and
// [tgi] know.
type chunk struct {
	Choices []struct {
		Delta *struct {
			Role      string `json:"role"`
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
	} `json:"usage"`

	Text      string `json:"text"` // SGLang
	OutputIDs []int  `json:"output_ids"`
	MetaInfo  *struct {
		Prompt int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
	} `json:"meta_info"`

	Token *struct { // TGI
		ID      int    `json:"id"`
		Text    string `json:"text"`
		Special bool   `json:"special"`
	} `json:"token"`
}

// compared are the frames by which ways to read them are compared.
var compared = map[string]struct {
	dialect Dialect
	frame   []byte
}{
	"Usage":  tokenFrames["Chat"],
	"Plain":  {chat{}, []byte(`{"id":"chatcmpl-BxWk3","object":"chat.completion.chunk","created":1763700000,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_560af6e559","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"Qx8ZkT"}`)},
	"SGLang": tokenFrames["SGLang"],
	"TGI":    tokenFrames["TGI"],
}

// compare measures one way to read each of the compared frames.
func compare(b *testing.B, read func(dialect Dialect, frame []byte) error) {
	for name, bench := range compared {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bench.frame)))
			for b.Loop() {
				if err := read(bench.dialect, bench.frame); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRead compares ways to read a frame: ours, which reads all fields that
// it knows; the same without a field that anybody asks for; and encoding/json into a
// struct of the few.
func BenchmarkRead(b *testing.B) {
	b.Run("InPlace", func(b *testing.B) {
		compare(b, func(dialect Dialect, frame []byte) error {
			_, err := dialect.Decode(frame)
			return err
		})
	})
	b.Run("Syntax", func(b *testing.B) {
		compare(b, func(_ Dialect, frame []byte) error {
			if !json.Valid(frame) {
				return malformed(frame)
			}
			return nil
		})
	})
	b.Run("JSON", func(b *testing.B) {
		compare(b, func(_ Dialect, frame []byte) error {
			var c chunk
			return json.Unmarshal(frame, &c)
		})
	})
}
