package inject

import "strings"

// A Problem is one thing that is wrong with the manifests, in one line.
type Problem struct {
	Place string // document 3, line 41: Deployment/vllm
	Text  string // what is wrong
	Hint  string // what would be right
}

// Error is the problem as a person reads it.
func (p Problem) Error() string { return p.Place + ": " + p.Text + "; " + p.Hint }

// Problems is everything that is wrong, in the order of the manifests. As the
// error of [Stream] it is never empty.
type Problems []Problem

// Error is a line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}
