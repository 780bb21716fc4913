package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const changelog = "# Changelog\n\n## Unreleased\n\n- [BUGFIX] c\n\n## 0.1.0 / 2027-02-01\n\n- [BUGFIX] b\n\n" +
	"## 0.1.0-rc.1 / 2027-01-31\n\n- [FEATURE] a\n"

// repository is a script that makes a Git repository with one commit, which is on main.
const repository = "git init -q -b main; git commit -q --allow-empty -m a; " +
	"git update-ref refs/remotes/origin/main HEAD\n"

// bash runs a script in a directory, with the scripts of a release in its PATH. It removes GIT_* from the environment,
// so that Git sees no other repository, even if one of its hooks runs the tests.
func bash(t *testing.T, dir, script string) (output string, ok bool) {
	t.Helper()
	release, err := filepath.Abs("release")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", script)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cmd.Env = append(cmd.Env, "PATH="+release+":"+os.Getenv("PATH"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// TestLatest holds that the newest version is the latest one, and neither a candidate nor a backport is.
func TestLatest(t *testing.T) {
	for tag, test := range map[string]struct{ tags, want string }{
		"v0.1.0-rc.1": {"v0.1.0-rc.1", "false\n"},
		"v0.1.0":      {"v0.1.0-rc.1 v0.1.0", "true\n"},
		"v0.10.0":     {"v0.9.0 v0.10.0 v0.11.0-rc.1", "true\n"},
		"v0.9.1":      {"v0.9.0 v0.9.1 v0.10.0", "false\n"},
	} {
		said, _ := bash(t, t.TempDir(), repository+"for tag in "+test.tags+"; do git tag $tag; done; latest "+tag)
		if said != test.want {
			t.Errorf("%s among %s: %q, want %q", tag, test.tags, said, test.want)
		}
	}
}

// TestNotes holds that the notes of a release are its part of the changelog.
func TestNotes(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/CHANGELOG.md", changelog)
	for tag, want := range map[string]string{
		"v0.1.0":      "## 0.1.0 / 2027-02-01\n\n- [BUGFIX] b\n\n",
		"v0.1.0-rc.1": "## 0.1.0-rc.1 / 2027-01-31\n\n- [FEATURE] a\n",
		"v0.1":        "",
	} {
		if said, ok := bash(t, dir, "notes "+tag); said != want || ok != (want != "") {
			t.Errorf("%s: %q (%v), want %q", tag, said, ok, want)
		}
	}
}

// TestCheckTag holds that a tag is refused if it is not on main, if a file that names the version has another one, or if
// a file says that there is no release yet.
func TestCheckTag(t *testing.T) {
	released := map[string]string{
		"CHANGELOG.md":                                     changelog,
		"README.md":                                        "# prober\n",
		"docs/sidecar.md":                                  "# Sidecar\n",
		"deploy/helm/prober/Chart.yaml":                    "version: 0.1.0\nappVersion: \"0.1.0\"\n",
		"deploy/kustomize/base/kustomization.yaml":         "images:\n- name: prober\n  newTag: 0.1.0\n",
		"deploy/kustomize/components/sidecar/sidecar.yaml": "image: ghcr.io/llm-prober/prober:0.1.0\n",
	}
	dir := t.TempDir()
	for path, text := range released {
		writeFile(t, dir+"/"+path, text)
	}
	if said, ok := bash(t, dir, repository); !ok {
		t.Fatal(said)
	}
	// with returns what is said of the tag while a file has another text.
	with := func(path, text string) (output string, ok bool) {
		writeFile(t, dir+"/"+path, text)
		output, ok = bash(t, dir, "check-tag v0.1.0")
		writeFile(t, dir+"/"+path, released[path])
		return output, ok
	}
	if output, ok := bash(t, dir, "check-tag v0.1.0"); !ok {
		t.Errorf("refused: %s", output)
	}
	for path, text := range released {
		if !strings.Contains(text, "0.1.0") {
			continue
		}
		output, ok := with(path, strings.ReplaceAll(text, "0.1.0", "0.1.0-rc.2"))
		if ok || !strings.HasPrefix(output, path) {
			t.Errorf("%s has another version: %v %s", path, ok, output)
		}
	}
	for _, path := range []string{"README.md", "docs/sidecar.md", "deploy/helm/prober/values.yaml"} {
		output, ok := with(path, "There is no release yet.\n")
		if ok || !strings.HasPrefix(output, path+"\n") {
			t.Errorf("%s says that there is no release: %v %s", path, ok, output)
		}
	}
	output, ok := bash(t, dir, "git commit -q --allow-empty -m b; check-tag v0.1.0")
	if ok || output != "the tag is not on main\n" {
		t.Errorf("beside main: %v %s", ok, output)
	}
}

// TestGoVersion holds that the workflows and the Dockerfile have the minor version of Go in go.mod.
func TestGoVersion(t *testing.T) {
	minor := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(read(t, "../go.mod"))[1]
	named := regexp.MustCompile(`(?:go-version: |golang:)(\S+)`)
	for _, path := range append(glob(t, "../.github/workflows/*.yml"), "../Dockerfile") {
		for _, version := range named.FindAllSubmatch(read(t, path), -1) {
			if !strings.HasPrefix(string(version[1]), string(minor)+".") {
				t.Errorf("%s has Go %s, go.mod %s", path, version[1], minor)
			}
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
