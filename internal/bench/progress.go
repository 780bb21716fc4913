package bench

import (
	"time"

	"github.com/llm-prober/prober/internal/report"
)

// showsRequests reports whether each request has a line on the screen: those of a comparison have, unless so many are
// under way together that the lines could not be read.
func (t *tally) showsRequests() bool {
	const maxInFlight = 16
	return len(t.job.Targets) > 1 && t.load.InFlight() <= maxInFlight
}

// showProgress shows the progress of the step, and intermediate results of a comparison, until stop is closed.
func (t *tally) showProgress(stop <-chan struct{}) {
	screen := t.run.Screen
	defer screen.ClearProgress()
	progress := time.NewTicker(screen.ProgressInterval())
	defer progress.Stop()
	var interims <-chan time.Time // never, unless targets are compared
	every := t.run.Plan.Every
	if every > 0 && len(t.job.Targets) > 1 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		interims = ticker.C
	}
	for {
		select {
		case <-stop:
			return
		case <-progress.C:
			screen.Progress(t.progress(time.Now()))
		case now := <-interims:
			t.showInterim(now)
		}
	}
}

// showInterim shows what was measured so far, in a line for each target.
func (t *tally) showInterim(now time.Time) {
	list := t.summaries(t.interim)
	if len(list) == 0 {
		return
	}
	title := "so far, after " + now.Sub(t.began).Round(time.Second).String()
	if len(list) == 1 { // the table leaves out its name
		title = list[0].Target + " " + title
	}
	t.run.Screen.Live(title + ":\n" + report.Overview(list))
}

// progress returns how far the part under way is.
func (t *tally) progress(now time.Time) Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	total, _ := t.load.Total()
	p := Progress{
		Step: t.run.stepsBegun, Steps: t.run.steps, Label: t.load.String(),
		Total: total * len(t.asked), Elapsed: now.Sub(t.partBegan), Limit: t.load.Limit,
	}
	if len(t.asked) == 1 && len(t.job.Targets) > 1 {
		p.Label = t.job.Targets[t.asked[0]].Name + ", " + p.Label
	}
	for _, i := range t.asked {
		m := t.members[i]
		p.Failed += m.failed
		p.Done += m.results.Len()
		for _, n := range m.skipped {
			p.Done += n
		}
	}
	return p
}
