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
		"":                              {Fault{}, ""},
		" , ":                           {Fault{}, ""},
		"itl=1.15,stall=10":             {Fault{ITL: 1.15, Stall: 10}, ""},
		" hang , html=true ":            {Fault{Hang: true, HTML: true}, ""},
		"slow_headers=350ms,batch=50ms": {Fault{SlowHeaders: Duration(350 * time.Millisecond), Batch: Duration(50 * time.Millisecond)}, ""},
		"status=529,probability=0.1,comments=false": {Fault{Status: 529, Probability: 0.1}, ""},
		"speed=2":                    {Fault{}, `unknown field "speed": prober simulate --help-all lists the known ones`},
		"itl=x":                      {Fault{}, "itl: want a value of type float64, not a string"},
		"hang=maybe":                 {Fault{}, "hang: want a value of type bool, not a string"},
		"status=200,reset=-1":        {Fault{}, "status: 200 is no error, want 400 to 599; stall, reset, error_frame, tokens_per_frame: want numbers of tokens"},
		"slow_headers=2h":            {Fault{}, "slow_headers, role_early: want 0 to 1h"},
		"slow_headers=soon":          {Fault{}, `time: invalid duration "soon"`},
		"comments":                   {Fault{}, "comments: needs stall, comments fill a stall"},
		"retry_after=2s":             {Fault{}, "retry_after: needs status 429, 503 or 529, which carry it"},
		"probability=1.5,itl=100000": {Fault{}, "itl, ttft: want a factor of 0.001 to 1000 (1.15 is 15% slower); probability: 1.5, want a share above 0 and at most 1"},
	} {
		got, err := ParseFault(text)
		if diff := cmp.Diff(want.fault, got); diff != "" || err == nil && want.problem != "" || err != nil && err.Error() != "fault: "+want.problem {
			t.Errorf("%q: %v, want %s (-want +got):\n%s", text, err, want.problem, diff)
		}
	}
}
