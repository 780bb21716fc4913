//go:build goexperiment.jsonv2

package wire

import (
	"encoding/json/v2"
	"testing"
)

// BenchmarkReadV2 is [BenchmarkRead] of what may become the standard library's
// next version: GOEXPERIMENT=jsonv2 go test -bench Read ./internal/wire.
func BenchmarkReadV2(b *testing.B) {
	b.Run("JSONv2", func(b *testing.B) {
		compare(b, func(_ Dialect, frame []byte) error {
			var c chunk
			return json.Unmarshal(frame, &c)
		})
	})
}
