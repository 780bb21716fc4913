package format

import "testing"

// TestAttainment holds that nothing reads like all or like a goal that was missed, and that few events have few decimals.
func TestAttainment(t *testing.T) {
	for _, test := range []struct {
		good, total int
		want        string
	}{
		{0, 3, "0%"},
		{2, 3, "66.6%"},
		{39, 40, "97.5%"},
		{57, 100, "57%"},
		{67, 101, "66.33%"},
		{359, 360, "99.72%"},
		{989, 999, "98.99%"},
		{989, 1000, "98.9%"},
		{990, 1001, "98.901%"},
		{9_989_999, 10_000_000, "99.899%"}, // 99.9 to the nearest, which would be the goal
		{259_190, 259_200, "99.996%"},
		{9_999_999, 10_000_000, "99.999%"},
		{10_000_000, 10_000_000, "100%"},
		{1_000_000_000_000 - 1, 1_000_000_000_000, "99.999%"},
	} {
		if got := Attainment(test.good, test.total); got != test.want {
			t.Errorf("%d of %d is %q, want %q", test.good, test.total, got, test.want)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0.0%", 0.00001: "under 0.01%", 0.0004: "0.04%", 0.000949: "0.09%", 0.00096: "0.1%",
		0.031: "3.1%", 0.98766: "98.8%", 1.62: "162.0%", -0.5: "-50.0%",
	} {
		if got := Percent(share); got != want {
			t.Errorf("%g is %q, want %q", share, got, want)
		}
	}
}

func TestChange(t *testing.T) {
	for share, want := range map[float64]string{
		0: "+0.00%", 0.03118: "+3.12%", -0.1234: "-12.3%", 0.09994: "+9.99%", 0.09996: "+10.0%", 0.9996: "+100%",
		1.63: "+163%",
	} {
		if got := Change(share); got != want {
			t.Errorf("%g is %q, want %q", share, got, want)
		}
	}
}

func TestGoal(t *testing.T) {
	for ratio, want := range map[float64]string{0.95: "95%", 0.9995: "99.95%", 0.999995: "99.9995%"} {
		if got := Goal(ratio); got != want {
			t.Errorf("%g is %q, want %q", ratio, got, want)
		}
	}
}
