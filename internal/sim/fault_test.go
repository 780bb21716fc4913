package sim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseFault(t *testing.T) {
	for text, want := range map[string]struct {
		fault   Fault
		problem string
	}{
		"":                           {Fault{}, ""},
		" , ":                        {Fault{}, ""},
		"itl=1.15,stall=10":          {Fault{ITL: 1.15, Stall: 10}, ""},
		" hang , html=true ":         {Fault{Hang: true, HTML: true}, ""},
		"slow_headers=350ms":         {Fault{SlowHeaders: Duration(350 * time.Millisecond)}, ""},
		"status=529,probability=0.1": {Fault{Status: 529, Probability: 0.1}, ""},
		"speed=2":                    {Fault{}, `unknown field "speed": prober simulate --help-all lists the known ones`},
		"itl=x":                      {Fault{}, "itl: want a value of type float64, not a string"},
		"hang=maybe":                 {Fault{}, "hang: want a value of type bool, not a string"},
		"slow_headers=2h":            {Fault{}, "stall_for, slow_headers: want 0 to 1h"},
		"slow_headers=soon":          {Fault{}, `time: invalid duration "soon"`},
		"stall_for=2s":               {Fault{}, "stall_for: needs stall"},
		"status=200,reset=-1": {Fault{}, "status: want an error, 400 to 599; " +
			"stall, reset, error_frame, tokens_per_frame: want numbers of tokens"},
		"probability=1.5,itl=100000000": {Fault{}, "itl, ttft: want a factor of 0.001 to 1000 (1.15 is 15% slower); " +
			"probability: want a share above 0 and at most 1"},
	} {
		got, err := ParseFault(text)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if want.problem != "" {
			want.problem = "fault: " + want.problem
		}
		if diff := cmp.Diff(want.fault, got); diff != "" || problem != want.problem {
			t.Errorf("%q: %s, want %s (-want +got):\n%s", text, problem, want.problem, diff)
		}
	}
}
