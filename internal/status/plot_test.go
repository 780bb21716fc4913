package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

func indented(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// phased is an answer that passed through every phase.
func phased() *probe.Result {
	r := success("a", 600*ms, 700*ms, 1000*ms)
	r.Phases = probe.Phases{DNS: 10 * ms, Connect: 20 * ms, TLS: 30 * ms, Wrote: 100 * ms, Header: 400 * ms}
	return r
}

func TestStages(t *testing.T) {
	a := phased().Account()
	var got []string
	for _, s := range stages(&a) {
		got = append(got, strings.ReplaceAll(s.Class+" "+round(s.From)+" to "+round(s.To), unit, " "))
	}
	want := []string{
		"dns 0 s to 10 ms", "connect 10 ms to 30 ms", "tls 30 ms to 60 ms", "write 60 ms to 100 ms",
		"wait 100 ms to 400 ms", "first 400 ms to 600 ms", "decode 600 ms to 1 s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
}

func TestBarsReachTheirValueAndNoFurther(t *testing.T) {
	b := newTestBoard("a")
	b.Record(phased())
	b.Record(broken("a", probe.DNS, "no such host"))
	s := b.snapshots()[0]
	for limit, want := range map[float64]coord{2: barHeight / 2, 1: 0, 0.7: 0} {
		list := bars(s.ring, limit)
		if top := list[0].Parts[len(list[0].Parts)-1].Y; top != want {
			t.Errorf("a second of %g ends at %v, want %v", limit, top, want)
		}
	}
	list := bars(s.ring, 2)
	failed := list[1]
	if diff := cmp.Diff([]part{{"failed", barHeight - leastFault, leastFault}}, failed.Parts); diff != "" || failed.Letter != "D" {
		t.Errorf("failed bar with letter %q (-want +got):\n%s", failed.Letter, diff)
	}
	if last := list[len(list)-1]; last.X != 97.5 {
		t.Errorf("the newest bar is at %v, want the right end", last.X)
	}
}

func TestBarsShowTheLastForty(t *testing.T) {
	b := newTestBoard("a")
	for range 100 {
		b.Record(success("a", ms))
	}
	if got := bars(b.snapshots()[0].ring, 1); len(got) != slots || got[0].X != 0 {
		t.Errorf("%d bars from %v, want %d from 0", len(got), got[0].X, slots)
	}
}

func TestEveryFailureHasItsOwnLetter(t *testing.T) {
	seen := map[string]probe.Outcome{}
	for _, o := range probe.Outcomes() {
		letter := letters[o]
		if (letter == "") != (o == probe.OK) {
			t.Errorf("letter of %s is %q", o, letter)
		}
		if other, ok := seen[letter]; ok {
			t.Errorf("%s and %s share the letter %s", o, other, letter)
		}
		seen[letter] = o
	}
}

func TestAGroupSharesItsScales(t *testing.T) {
	b := NewBoard(time.Now(), "v1", nil)
	b.Set(probe.Description{Name: "a", Group: "g"})
	b.Set(probe.Description{Name: "b", Group: "g"})
	b.Record(success("a", ms, time.Second))
	b.Record(success("b", ms, 3*time.Second))
	b.Record(broken("b", probe.Timeout, "too slow"))

	all := sections(b.snapshots())[0].Cards
	for _, c := range all {
		if c.Plot.Top != "3"+unit+"s" || c.Plot.StripTo != "1"+unit+"s" {
			t.Errorf("%s: bars to %s, strip to %s, want 3 s and 1 s", c.Name, c.Plot.Top, c.Plot.StripTo)
		}
	}
}

func TestScalesWithoutAnySuccess(t *testing.T) {
	b := newTestBoard("a", "b")
	slow := broken("a", probe.Timeout, "too slow")
	slow.Elapsed = 110 * time.Second
	b.Record(slow)
	cards := sections(b.snapshots())[0].Cards
	if p := cards[0].Plot; p.Top != "120"+unit+"s" || p.StripTo != p.Top {
		t.Errorf("bars to %s, strip to %s, want 120 s both", p.Top, p.StripTo)
	}
	if cards[1].Plot != nil {
		t.Error("a plot without a result")
	}
}

func TestStripMarksTokensAndSilences(t *testing.T) {
	a := success("a", 100*ms, 200*ms, 300*ms, 300*ms, 1300*ms, 1400*ms, 2000*ms).Account()
	s := tokenStrip(&a, 2)
	if want := "M500 0v1M1000 0v1M1500 0v1M6500 0v1M7000 0v1M10000 0v1"; s.Ticks != want {
		t.Errorf("ticks %s, want %s", s.Ticks, want)
	}
	if got, want := fmt.Sprint(s.Gaps), "[{silence 15 50} {silence 70 30}]"; got != want {
		t.Errorf("silences %s, want %s", got, want)
	}
}

func TestStripOfAStallIsCutOff(t *testing.T) {
	r := success("a", 500*ms, 1000*ms)
	r.Outcome, r.Elapsed, r.Open = probe.Stalled, 31*time.Second, 30*time.Second
	b := newTestBoard("a")
	b.Record(r)
	s := b.snapshots()[0]
	limit := stripLimit([]*snapshot{&s})
	if limit != 1.5 {
		t.Errorf("the axis ends at %g s, want 1.5 s: 1.3 times the last token, rounded", limit)
	}
	a := r.Account()
	got := tokenStrip(&a, limit).Gaps
	if len(got) != 1 || got[0].Class != "failed" || got[0].X+got[0].Width != 100 {
		t.Errorf("silences %v, want one that reaches the end", got)
	}
}

func TestNice(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, 1: 1, 1.01: 1.2, 0.0123: 0.015, 9: 10, 110: 120, 84: 100} {
		if got := nice(v); got < want*0.9999 || got > want*1.0001 {
			t.Errorf("nice(%g) = %g, want %g", v, got, want)
		}
	}
}

func TestSpelling(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{precise(0), "0 s"},
		{precise(0.00000123), "1.23 µs"},
		{precise(1234.5), "1234 s"},
		{round(2), "2 s"},
		{round(0.25), "250 ms"},
		{span(3200 * ms), "3.2 s"},
		{span(59 * time.Second), "59 s"},
		{span(61 * time.Second), "1 min"},
		{span(5*time.Hour + 12*time.Minute), "5 h 12 min"},
		{span(50 * time.Hour), "2 d 2 h"},
		{large(182304000), "182 M"},
		{large(2500000000), "2.5 G"},
		{large(950000), "950,000"},
		{percent(1), "100 %"},
		{percent(0.99999), "99.99 %"},
		{percent(0.57), "57 %"},
		{goal(0.9995), "99.95 %"},
		{strings.Join(workload(probe.Description{Prompt: "cold"}), " "), "cold prompt"},
	} {
		if got := strings.ReplaceAll(test.got, unit, " "); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// late is success with its frames in one read that came 2 s late, but for the first two.
func late(target string, at ...time.Duration) *probe.Result {
	r := success(target, at...)
	r.Stamp = probe.ByKernel
	last := len(at) - 1
	for i := range r.Tokens {
		a := &r.Tokens[i]
		if a.Kernel = true; i > 1 {
			a.At, a.Read, a.Delay = at[last], uint32(last), 2*time.Second
		}
	}
	return r
}

// TestTaintedProbesAreMarked: on the bar and in a note, and their ITL is nowhere.
func TestTaintedProbesAreMarked(t *testing.T) {
	r := late("a", 500*ms, 1000*ms, 1500*ms, 2000*ms)
	r.Taint = probe.TaintLate
	b := newTestBoard("a")
	b.Record(success("a", 500*ms, 1000*ms, 2000*ms))
	b.Record(r)
	s := b.snapshots()[0]
	c := s.card()
	if want := "1 of 2 probes of the last hour were read too late by the prober: excluded from ITL"; len(c.Notes) != 1 || unbroken(c.Notes[0]) != want {
		t.Errorf("notes %q, want %q", c.Notes, want)
	}
	if n := s.summary.itl.N; n != 2 {
		t.Errorf("%d values of ITL, want the 2 of the probe that was not late", n)
	}
	p := s.plot(2, 2)
	if title := p.Bars[1].Title; !strings.Contains(title, "\nread too late by the prober (late): no ITL") || strings.Contains(p.Bars[0].Title, "late") {
		t.Errorf("titles %q and %q", p.Bars[0].Title, title)
	}
}

// TestArrivalsThatAreNotKnownAreNotDrawn: neither ticks nor silences, and what follows is where it was.
func TestArrivalsThatAreNotKnownAreNotDrawn(t *testing.T) {
	a := late("a", 500*ms, 600*ms, 1500*ms, 2000*ms).Account()
	s := tokenStrip(&a, 2)
	if s.Ticks != "M2500 0v1M3000 0v1M10000 0v1" || s.Gaps != nil {
		t.Errorf("ticks %s, gaps %v", s.Ticks, s.Gaps)
	}
	if words := unbroken(frames(&a)); !strings.Contains(words, "2 read late by the prober, several at once") || strings.Contains(words, "longest gap") {
		t.Errorf("words %s", words)
	}
}

// unbroken is a text with spaces that break.
func unbroken(text string) string { return strings.ReplaceAll(text, unit, " ") }

// TestStallAfterALateReadIsDrawnWhereItWas: gaps do not lead there.
func TestStallAfterALateReadIsDrawnWhereItWas(t *testing.T) {
	r := late("a", 500*ms, 600*ms, 900*ms, 1000*ms)
	r.Outcome, r.Elapsed, r.Open = probe.Stalled, 2*time.Second, time.Second
	a := r.Account()
	if got, want := fmt.Sprint(tokenStrip(&a, 2).Gaps), "[{failed 50 50}]"; got != want {
		t.Errorf("silences %s, want %s", got, want)
	}
}
