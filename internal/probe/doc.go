// Package probe asks one inference server one question and times the answer.
// A probe never fails in the Go sense: whatever happens becomes a [Result]. The
// package knows no metrics, no logger and no configuration.
package probe
