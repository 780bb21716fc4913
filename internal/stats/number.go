package stats

import (
	"encoding/json"
	"math"
)

// A Number is a figure that may be unknown (NaN) or infinite. Both are null in JSON, where other numbers have nine
// decimals.
type Number float64

// Finite reports whether v is a number: neither NaN nor infinite.
func Finite[T ~float64](v T) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// MarshalJSON writes null for what is not finite. It never fails.
func (n Number) MarshalJSON() ([]byte, error) {
	if !Finite(n) {
		return []byte("null"), nil
	}
	if math.Abs(float64(n)) <= 1e6 {
		n = Number(math.Round(float64(n)*1e9) / 1e9)
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as NaN.
func (n *Number) UnmarshalJSON(text []byte) error {
	*n = Number(math.NaN())
	if string(text) == "null" {
		return nil
	}
	return json.Unmarshal(text, (*float64)(n)) //nolint:wrapcheck // as it is without a Number
}
