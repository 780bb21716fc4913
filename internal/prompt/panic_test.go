package prompt

import "testing"

// broken is a workload with a fault of ours.
type broken struct{ workload }

func (broken) start(int, []observation) calibrationStart { panic("broken") }

// TestWriterOutlivesAPanic holds that a panic of ours while a prompt is written or estimated
// leaves no lock behind: who recovers from it can write the next prompt.
func TestWriterOutlivesAPanic(t *testing.T) {
	for name, call := range map[string]func(w *Writer){
		"written": func(w *Writer) {
			w.workload = broken{w.workload}
			w.Prompt(0)
		},
		"estimated": func(w *Writer) {
			w.workload = broken{w.workload}
			w.Estimate(0)
		},
	} {
		w := NewWriter(Options{Workload: Cold, Tokens: 100, Seed: 1})
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call(w)
		}()
		if !w.mu.TryLock() {
			t.Errorf("%s: the writer is locked for ever", name)
		}
	}
}
