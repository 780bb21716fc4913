package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// logOf is what was written of three streams: a has three frames, c four, one of them interrupted, and b two.
func logOf() writes {
	return writes{
		"a": {{1000, 1010, 1020}, {2000, 2030, 2040}, {2000, 2030, 2040}},
		"b": {{1500, 1500, 1510}, {1500, 1600, 1610}},
		"c": {{1000, 1000, 1010}, {2000, 2000, 52000}, {60000, 60000, 60010}, {70000, 70000, 70010}},
	}
}

func TestJoin(t *testing.T) {
	j, err := join([]seen{
		{Trace: "b", Arrivals: []int64{1490, 1620}, Tainted: true},
		{Trace: "a", Arrivals: []int64{1015, 2045, 2044}, Together: 1, Kernel: 3},
		{Trace: "c", Arrivals: []int64{1000, 42000, 60000, 70002}},
	}, logOf())
	if err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{30, 10, 1, 40000, 40000, 2}; !slices.Equal(j.gaps, want) {
		t.Errorf("gap errors %v, want %v", j.gaps, want)
	}
	if want := []time.Duration{30, 10, 1, 2}; !slices.Equal(j.between, want) {
		t.Errorf("gap errors %v, want %v without those of a Write that took 50 µs", j.between, want)
	}
	if want := []time.Duration{-10, 5, 0}; !slices.Equal(j.ttft, want) {
		t.Errorf("TTFT errors %v, want %v", j.ttft, want)
	}
	if want := []time.Duration{0, 100, 10, 30, 30, 0, 0, 0, 0}; !slices.Equal(j.late, want) {
		t.Errorf("the server was late by %v, want %v", j.late, want)
	}
	if _, err := join([]seen{{Trace: "a", Arrivals: []int64{1}}}, logOf()); err == nil {
		t.Error("a stream was joined that lacks frames")
	}
	if j.frames != 9 || j.together != 1 || j.kernel != 3 || j.tainted != 1 {
		t.Errorf("%+v", j)
	}
}

// TestABareReaderMissesNoFrame cuts an answer at each place, and into single bytes.
func TestABareReaderMissesNoFrame(t *testing.T) {
	const answer = "head\r\n\r\nb\r\ndata: one\n\n\r\nb\r\ndata: two\n\ndata: three\n\n\r\n0\r\n\r\n"
	for cut := range len(answer) {
		at, err := arrivals(io.MultiReader(strings.NewReader(answer[:cut]), strings.NewReader(answer[cut:])), time.Now(), 3)
		if err != nil || len(at) != 3 {
			t.Errorf("cut at %d: %d frames, %v", cut, len(at), err)
		}
	}
	long := strings.Repeat(answer, 1000)
	for name, r := range map[string]io.Reader{"byte by byte": iotest.OneByteReader(strings.NewReader(long)), "whole": strings.NewReader(long)} {
		if at, err := arrivals(r, time.Now(), 1); err != nil || len(at) != 3000 || !slices.IsSorted(at) {
			t.Errorf("%s: %d frames, %v", name, len(at), err)
		}
	}
}
