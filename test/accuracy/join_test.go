package main

import (
	"testing"
	"time"
)

func TestJoin(t *testing.T) {
	log := writes{
		"a": {{1000, 1010, 1020}, {2000, 2030, 2040}, {2000, 2030, 2040}},
		"b": {{1500, 1500, 1510}, {1500, 1600, 1610}},
		"c": {{1000, 1000, 1010}, {2000, 2000, 52000}, {60000, 60000, 60010}, {70000, 70000, 70010}}, // one is interrupted
	}
	j, err := join([]seen{
		{Trace: "b", Arrivals: []int64{1490, 1620}, Tainted: true},
		{Trace: "a", Arrivals: []int64{1015, 2045, 2044}, Together: 1, Kernel: 3},
		{Trace: "c", Arrivals: []int64{1000, 42000, 60000, 70002}},
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		got  spread
		want []time.Duration
	}{
		"gap errors": {j.gaps, []time.Duration{30, 10, 1, 40000, 40000, 2}},
		"gap errors without those of a Write that took 50 µs": {j.between, []time.Duration{30, 10, 1, 2}},
		"TTFT errors":  {j.ttft, []time.Duration{-10, 5, 0}},
		"server, late": {j.late, []time.Duration{0, 100, 10, 30, 30, 0, 0, 0, 0}},
	} {
		if want := spreadOf(c.want); c.got != want {
			t.Errorf("%s: %+v, want %+v", name, c.got, want)
		}
	}
	if _, err := join([]seen{{Trace: "a", Arrivals: []int64{1}}}, log); err == nil {
		t.Error("a stream was joined that lacks frames")
	}
	if j.frames != 9 || j.together != 1 || j.kernel != 3 || j.tainted != 1 {
		t.Errorf("%+v", j)
	}
}
