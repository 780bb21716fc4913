package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/llm-prober/prober/internal/config"
)

var packageDir = flag.String("packages", "", "write the man pages and completions of packages into this `directory`")

// TestPackageFiles writes what packages contain besides the binary: a man page for each command, with all that its help
// says, and completions for each shell.
func TestPackageFiles(t *testing.T) {
	dir := *packageDir
	if dir == "" {
		dir = t.TempDir()
	}
	man := filepath.Join(dir, "man")
	root := newRoot()
	commands := forMan(root)
	err := errors.Join(
		os.RemoveAll(dir),
		os.MkdirAll(man, 0o755),
		doc.GenManTree(root, &doc.GenManHeader{Source: "prober", Manual: "User Commands"}, man),
		compress(man),
		root.GenBashCompletionFileV2(filepath.Join(dir, "prober.bash"), true),
		root.GenZshCompletionFile(filepath.Join(dir, "prober.zsh")),
		root.GenFishCompletionFile(filepath.Join(dir, "prober.fish"), true),
	)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(man, "*.1.gz"))
	if err != nil || len(pages) != commands {
		t.Errorf("%d pages of %d commands: %q (%v)", len(pages), commands, pages, err)
	}
	for page, words := range map[string]string{
		"prober": `\fBprober-bench(1)\fP`, "prober-run": "(PROBER_TARGETS_FILE)", "prober-simulate": "production-stack",
		"prober-config-show": `\fBprober-config(1)\fP`,
	} {
		if text := readPage(t, filepath.Join(man, page+".1.gz")); !strings.Contains(text, words) {
			t.Errorf("the page %s has no %q:\n%s", page, words, text)
		}
	}
}

// indented matches a block of text that help shows as it is. Markdown would need more than two spaces for that.
var indented = regexp.MustCompile(`(?m)(^  .*\n?)+`)

// forMan adds the list of commands and the variables of flags to the texts that man pages are made of. It returns the
// number of commands.
func forMan(cmd *cobra.Command) (commands int) {
	cmd.DisableAutoGenTag = true
	commands = 1
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			continue
		}
		if commands == 1 {
			cmd.Long += "\n\n# COMMANDS\n"
		}
		cmd.Long += fmt.Sprintf("**%s**\n\t%s\n\n", c.Name(), c.Short)
		commands += forMan(c)
	}
	cmd.Long = indented.ReplaceAllString(cmd.Long, "```\n$0\n```\n")
	for _, key := range config.Reference() {
		f := cmd.Flags().Lookup(key.Flag)
		if f != nil && strings.HasPrefix(f.Usage, key.Help) {
			f.Usage += " (" + key.Variable + ")"
		}
	}
	return commands
}

// compress replaces each file of a directory by its gzip, which is the same each time.
func compress(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		path := filepath.Join(dir, file.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		writer, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is a right one
		_, _ = writer.Write(text)                                       // to memory
		err = errors.Join(writer.Close(), os.WriteFile(path+".gz", packed.Bytes(), 0o644), os.Remove(path))
		if err != nil {
			return err
		}
	}
	return nil
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
