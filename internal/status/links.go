package status

import (
	"net/url"

	"github.com/llm-prober/prober/internal/probe"
)

// Links are the addresses of which the page makes links. They do not end with a slash, and are empty if unknown.
type Links struct {
	External string // of the page itself, as people reach it
	Grafana  string
}

// runbooks is where the runbooks of the alerts are.
const runbooks = "https://github.com/llm-prober/prober/blob/main/alerts/runbooks/"

// page returns the absolute address of the page of a target; empty if it is not known.
func (l Links) page(target string) string {
	if l.External == "" {
		return ""
	}
	return l.External + "/?" + url.Values{"target": {target}}.Encode()
}

// dashboard returns the address of the dashboard of a target; empty if it is not known.
func (l Links) dashboard(target, prompt string) string {
	if l.Grafana == "" {
		return ""
	}
	variables := url.Values{"var-target": {target}}
	if prompt != "" {
		variables.Set("var-prompt", prompt)
	}
	return l.Grafana + "/d/prober-target?" + variables.Encode()
}

// runbookURL returns the address of the runbook that says what to do about the target; empty if nothing is wrong.
func (v *view) runbookURL() string {
	name := v.Runbook()
	if name == "" {
		return ""
	}
	return runbooks + name + ".md"
}

// Runbook returns the name of the runbook that says what to do about the target: that of the alert about its state and,
// if it is failing, its last outcome. It is empty if nothing is wrong.
func (v *view) Runbook() string {
	switch v.State {
	case stateFailing:
		return runbookOf(*v.LastOutcome)
	case stateHanging:
		return "ProberProbeHanging"
	case stateRejected:
		return "ProberTargetRejected"
	case stateDegraded:
		if len(v.history.condition.missed) == 0 {
			return "ProberSevereSlowdown"
		}
		return "ProberErrorBudgetBurn"
	}
	return ""
}

// runbookOf returns the name of the runbook of the alert about failures with an outcome.
func runbookOf(o probe.Outcome) string {
	switch {
	case o.Refusal():
		return "ProberTargetRefuses"
	case o == probe.Stalled:
		return "ProberStreamStall"
	case o == probe.WrongAnswer, o == probe.WrongLength:
		return "ProberWrongAnswer"
	}
	return "ProberTargetDown"
}
