package engine

import (
	"io/fs"
	"testing"

	"github.com/llm-prober/prober/internal/config"
)

// TestFilesAreHashedOnce holds that what a file holds is read, hashed and parsed once for all groups that
// name it, and that what was parsed of it serves after it is gone.
func TestFilesAreHashedOnce(t *testing.T) {
	files := map[string][]byte{"set": []byte(`{"prompt": "the first set"}`)}
	target := config.Target{Settings: config.Settings{QPS: 1, Prompt: "dataset", DatasetFile: "set"}, API: "auto", Server: "auto"}
	a := NewAssets(func(path string) ([]byte, error) {
		data, ok := files[path]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return data, nil
	})
	read := func() *Job {
		t.Helper()
		jobs, err := Assemble([]config.Target{target}, a, nil, "test")
		if err != nil || jobs[0].Prompts.Dataset[0][0].Text != "the first set" {
			t.Fatal(err)
		}
		return jobs[0]
	}
	first := read()
	a.Release()
	clear(files)
	if again := read(); !again.same(first) || &again.Prompts.Dataset[0][0] != &first.Prompts.Dataset[0][0] {
		t.Error("another content, or parsed again")
	}
}
