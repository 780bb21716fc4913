package status

import (
	"fmt"
	"testing"
)

func TestFormats(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{seconds(nil), "–"},
		{seconds(new(1.5)), "1.50 s"},
	} {
		equal(t, "text", test.got, test.want)
	}
	equal(t, "a goal of 55% with 55 of 100 good is missed", objective{Goal: 0.55, Good: 55, Total: 100}.Missed(), false)
	equal(t, "a goal of 55% with 54 of 100 good is missed", objective{Goal: 0.55, Good: 54, Total: 100}.Missed(), true)
	for v, want := range map[float64]string{0: "1", 1: "1", 1.01: "1.2", 0.0123: "0.015", 9: "10", 110: "120", 84: "100"} {
		equal(t, fmt.Sprintf("end of an axis for %g", v), fmt.Sprintf("%.3g", axisEnd(v)), want)
	}
}
