package prompt

import "testing"

// broken is an author with a fault of ours.
type broken struct{ author }

func (broken) begin(int, []observation) terms { panic("broken") }

// TestWriterOutlivesAPanic holds that a panic of ours while a prompt is written or calibrated
// leaves no lock behind: who recovers from it can write the next prompt.
func TestWriterOutlivesAPanic(t *testing.T) {
	for name, call := range map[string]func(w *Writer){
		"written":    func(w *Writer) { w.Prompt(0) },
		"calibrated": func(w *Writer) { _ = w.Calibrate(func(Prompt) (int, error) { return 1, nil }) },
		"learnt": func(w *Writer) {
			_ = w.Calibrate(func(Prompt) (int, error) {
				w.known[0].padding = true // without a count, which is found out when one is taken
				return 50, nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWriter(Options{Workload: Cold, Tokens: 100, Seed: 1})
			if name != "learnt" {
				w.author = broken{w.author}
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				call(w)
			}()
			if !w.mu.TryLock() {
				t.Fatal("the writer is locked for ever")
			}
		})
	}
}
