package sim

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseFault(t *testing.T) {
	for text, want := range map[string]Fault{
		"":                        {},
		" , ":                     {},
		"itl=1.15,stall_after=10": {ITL: 1.15, StallAfter: 10},
		" hang , html=true ":      {Hang: true, HTML: true},
		"slow_headers=350ms, role_early=2s,batch_ms=50": {SlowHeaders: 350 * time.Millisecond, RoleEarly: 2 * time.Second, BatchMS: 50},
		"status=529,probability=0.1,comments=false":     {Status: 529, Probability: 0.1},
	} {
		got, err := ParseFault(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestParseFaultNamesEveryProblem(t *testing.T) {
	for text, want := range map[string]string{
		"itll=2":                        "fault: itll: unknown; known: status, stall_after, comments, cut_after, error_after, slow_headers, role_early, tokens_per_frame, itl, ttft, batch_ms, probability, double_usage, html, json, hang, retry_after, garble",
		"itl=x,status=200,cut_after=-1": `fault: itl: "x" is no number; status: 200 is no error, want 400 to 599; cut_after: -1 is negative, want tokens`,
		"itl":                           "fault: itl: no value, want itl=<number>",
		"hang=maybe":                    `fault: hang: "maybe" is no true or false`,
		"slow_headers=5":                `fault: slow_headers: "5" is no duration such as "350ms"`,
		"slow_headers=2h":               "fault: slow_headers: 2h0m0s, want 0 to 1h",
		"itl=1,itl=2":                   "fault: itl: given twice",
		"retry_after=2s":                "fault: retry_after: needs status 429, 503 or 529, which carry it",
		"status=429,retry_after=25h":    "fault: retry_after: 25h0m0s, want 0 to 24h",
		"comments":                      "fault: comments: needs stall_after, comments fill a stall",
		"probability=0":                 "fault: probability: 0 would never hit; take the fault away instead",
		"probability=1.5":               "fault: probability: 1.5, want a share above 0 and at most 1",
		"itl=nan,ttft=inf":              "fault: itl: NaN, want a factor of 0.001 to 1000 (1.15 is 15% slower); ttft: +Inf, want a factor of 0.001 to 1000 (1.15 is 15% slower)",
		"stall_after=1.5,hang=true":     `fault: stall_after: "1.5" is no whole number`,
	} {
		got, err := ParseFault(text)
		if err == nil || err.Error() != want || got != (Fault{}) {
			t.Errorf("%q: fault %q, error\n got %v\nwant %s", text, got, err, want)
		}
	}
}

func TestFaultJSONIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                     `fault: want a JSON object such as {"itl": 1.15}`,
		`null`:                   `fault: want a JSON object such as {"itl": 1.15}`,
		`{"itl":"1.15"}`:         `fault: itl: "1.15" is no number`,
		`{"slow_headers":350}`:   `fault: slow_headers: 350 is no duration such as "350ms"`,
		`{"hang":1}`:             "fault: hang: 1 is no true or false",
		`{"status":429.5}`:       `fault: status: "429.5" is no whole number`,
		`{"status":null}`:        "fault: status: null is no whole number",
		`{"hang":"x","itl":0.0}`: `fault: hang: "x" is no true or false`,
	} {
		f := Fault{Hang: true}
		if err := f.UnmarshalJSON([]byte(text)); err == nil || err.Error() != want || f != (Fault{Hang: true}) {
			t.Errorf("%s: fault %q, error\n got %v\nwant %s", text, f, err, want)
		}
	}
}

func TestSetFaultValidates(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	good := Fault{ITL: 2}
	if err := s.SetFault(good); err != nil || s.Fault() != good {
		t.Errorf("fault %q, error %v", s.Fault(), err)
	}
	if err := s.SetFault(Fault{Status: 200, ITL: -1}); err == nil || strings.Count(err.Error(), ";") != 1 || s.Fault() != good {
		t.Errorf("fault %q, error %v", s.Fault(), err)
	}
}

// check holds for every fault that was read: it is valid, and both spellings lead back to it.
func check(t *testing.T, f Fault) {
	t.Helper()
	if err := f.validate(); err != nil {
		t.Fatalf("accepted an invalid fault: %v", err)
	}
	if again, err := ParseFault(f.String()); err != nil || again != f {
		t.Fatalf("%q parses as %q, %v", f, again, err)
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var again Fault
	if err := json.Unmarshal(data, &again); err != nil || again != f {
		t.Fatalf("%s decodes as %q, %v", data, again, err)
	}
}

func FuzzParseFault(f *testing.F) {
	f.Add("itl=1.15,stall_after=10,comments")
	f.Add("slow_headers=1h,role_early=1ns,probability=1e-9,status=599,hang")
	f.Add("tokens_per_frame=1,batch_ms=50,double_usage=true,html,json,ttft=0.001")
	f.Fuzz(func(t *testing.T, text string) {
		if fault, err := ParseFault(text); err == nil {
			check(t, fault)
		}
	})
}

func FuzzFaultJSON(f *testing.F) {
	f.Add([]byte(`{"itl":1.15,"slow_headers":"350ms","hang":true}`))
	f.Add([]byte(`{"status":429,"probability":0.5} x`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fault, err := readFault(strings.NewReader(string(data)))
		if err == nil {
			check(t, fault)
		}
	})
}
