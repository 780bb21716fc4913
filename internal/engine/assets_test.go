package engine

import (
	"io/fs"
	"testing"

	"github.com/llm-prober/prober/internal/config"
)

// TestFilesAreHashedOnce holds that what a file holds is read, hashed and cut into passages once for all groups that
// name it, and that what was parsed of it serves after it is gone.
func TestFilesAreHashedOnce(t *testing.T) {
	files := map[string][]byte{"book": []byte("the first book")}
	target := config.Target{Settings: config.Settings{QPS: 1, Prompt: "book", PromptTokens: 3, BookFile: "book"}, API: "auto", Server: "auto"}
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
		if err != nil || jobs[0].Prompts.Book[0] != "the first book" {
			t.Fatal(err)
		}
		return jobs[0]
	}
	first := read()
	a.Release()
	clear(files)
	if again := read(); !again.same(first) || &again.Prompts.Book[0] != &first.Prompts.Book[0] {
		t.Error("another content, or other passages")
	}
}
