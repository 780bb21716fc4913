package sim

import "testing"

// TestParseFault holds the syntax of --fault, and what is said about mistakes.
func TestParseFault(t *testing.T) {
	for text, want := range map[string]struct {
		fault   Fault
		problem string
	}{
		"":                           {fault: Fault{}},
		" , ":                        {fault: Fault{}},
		"itl=1.15,stall=10":          {fault: Fault{ITL: 1.15, Stall: 10}},
		" hang , wrong_answer=true ": {fault: Fault{Hang: true, WrongAnswer: true}},
		"degenerate":                 {fault: Fault{Degenerate: true}},
		"status=529,probability=0.1": {fault: Fault{Status: 529, Probability: 0.1}},
		"speed=2":                    {problem: `unknown field "speed": prober simulate --help lists the faults`},
		"itl=x": {problem: "cannot unmarshal string into Go struct field Fault.itl of type float64: " +
			"prober simulate --help lists the faults"},
		"status=200":      {problem: "status: want an error, 400 to 599"},
		"stall=-1":        {problem: "stall: want a number of tokens"},
		"itl=100000000":   {problem: "ttft, itl: want a factor of 0.001 to 1000 (1.15 is 15% slower)"},
		"probability=1.5": {problem: "probability: want a share above 0 and at most 1"},
	} {
		got, err := ParseFault(text)
		switch {
		case want.problem == "" && (err != nil || got != want.fault):
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want.fault)
		case want.problem != "" && (err == nil || err.Error() != "fault: "+want.problem):
			t.Errorf("%q: %v, want %s", text, err, want.problem)
		}
	}
}
