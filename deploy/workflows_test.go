package deploy_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A workflow is what these tests look at of a file of GitHub Actions.
type workflow struct {
	Permissions map[string]string `yaml:"permissions"`
	Jobs        map[string]struct {
		Permissions map[string]string `yaml:"permissions"`
		Steps       []step            `yaml:"steps"`
	} `yaml:"jobs"`
}

// A step is an action or a script of bash.
type step struct {
	Name string            `yaml:"name"`
	Uses string            `yaml:"uses"`
	Run  string            `yaml:"run"`
	With map[string]string `yaml:"with"`
}

// workflows are those of the repository by their file.
func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	found := map[string]workflow{}
	for _, path := range glob(t, "../.github/workflows/*.yml") {
		var w workflow
		if err := yaml.Unmarshal(read(t, path), &w); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		found[filepath.Base(path)] = w
	}
	if len(found) < 3 {
		t.Fatalf("%d workflows", len(found))
	}
	return found
}

// eachStep calls do with every step of every workflow, and where it is.
func eachStep(t *testing.T, do func(where string, s step)) {
	t.Helper()
	for file, w := range workflows(t) {
		for name, job := range w.Jobs {
			for _, s := range job.Steps {
				do(file+" "+name, s)
			}
		}
	}
}

// TestWorkflowsMayLittle holds that a job has the permissions it lists and no
// others, leaves no token in its checkout, and runs no text of an event as a script.
func TestWorkflowsMayLittle(t *testing.T) {
	for file, w := range workflows(t) {
		if w.Permissions == nil || len(w.Permissions) > 0 {
			t.Errorf("%s: permissions %v for all of its jobs, want {}", file, w.Permissions)
		}
		for name, job := range w.Jobs {
			if len(job.Permissions) == 0 {
				t.Errorf("%s %s lists no permissions", file, name)
			}
		}
	}
	eachStep(t, func(where string, s step) {
		if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != "false" {
			t.Errorf("%s: the token of the checkout stays on the disk", where)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s: an expression in a script; give it by env:\n%s", where, s.Run)
		}
	})
}

// TestActionsArePinned holds that each action is named by a commit, with its version
// beside it, and is the same everywhere.
func TestActionsArePinned(t *testing.T) {
	pin := regexp.MustCompile(`(?m)uses: ([\w-]+/[\w-]+)(?:/[\w-]+)?@(.*)$`)
	good := regexp.MustCompile(`^[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	seen := map[string]string{}
	for _, path := range glob(t, "../.github/workflows/*.yml") {
		for _, m := range pin.FindAllStringSubmatch(string(read(t, path)), -1) {
			action, at := m[1], m[2]
			if !good.MatchString(at) {
				t.Errorf("%s: %s@%s is no commit with a version", path, action, at)
			}
			if other, ok := seen[action]; ok && other != at {
				t.Errorf("%s: %s is %s, elsewhere %s", path, action, at, other)
			}
			seen[action] = at
		}
	}
	if len(seen) < 4 {
		t.Errorf("actions %v: the test does not see them", seen)
	}
}

// TestReleasesAreOfTheNewestGo holds that workflows take the newest patch of Go's
// minor version. With go-version-file they took the first one, since go.mod names the
// least that is needed: https://github.com/actions/setup-go/issues/740.
func TestReleasesAreOfTheNewestGo(t *testing.T) {
	minor := regexp.MustCompile(`(?m)^go (\d+\.\d+)`)
	want := string(minor.FindSubmatch(read(t, "../go.mod"))[1])
	for _, path := range append(glob(t, "../test/*/go.mod"), "../test/go.mod") {
		if m := minor.FindSubmatch(read(t, path)); m == nil || string(m[1]) != want {
			t.Errorf("%s needs Go %s, the workflows have %s", path, m, want)
		}
	}
	eachStep(t, func(where string, s step) {
		if !strings.HasPrefix(s.Uses, "actions/setup-go@") {
			return
		}
		if s.With["go-version"] != want+".x" || s.With["check-latest"] != "true" || s.With["go-version-file"] != "" {
			t.Errorf("%s: Go by %v, want the newest %s.x", where, s.With, want)
		}
		if strings.HasPrefix(where, "release.yml") && s.With["cache"] != "false" {
			t.Errorf("%s: what another workflow put into the cache would be released", where)
		}
	})
}

// script is that of the step of release.yml with a name.
func script(t *testing.T, name string) string {
	t.Helper()
	for _, job := range workflows(t)["release.yml"].Jobs {
		for _, s := range job.Steps {
			if s.Name == name && s.Run != "" {
				return s.Run
			}
		}
	}
	t.Fatalf("release.yml has no script %q", name)
	return ""
}

// bash runs a script in dir as GitHub runs it, on a tag. Git sees no repository but
// that in dir, also where the tests are run by one of its hooks.
func bash(t *testing.T, dir, tag, script string, environ ...string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	write(t, path, script)
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", path)
	cmd.Dir = dir
	outside := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cmd.Env = slices.Concat(outside, environ, []string{
		"GITHUB_REF_NAME=" + tag, "RUNNER_TEMP=" + dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
	})
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil { //nolint:gosec // some are scripts
		t.Fatal(err)
	}
}

// repository is one of git's, with tags on its one commit, which is on main.
func repository(t *testing.T, tags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	setUp := "git init -q -b main && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a && git update-ref refs/remotes/origin/main HEAD\n"
	for _, tag := range tags {
		setUp += "git tag " + tag + "\n"
	}
	if out, err := bash(t, dir, "", setUp); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// TestWhatIsLatest runs the script that says whether a tag's image is the latest.
func TestWhatIsLatest(t *testing.T) {
	for _, test := range []struct {
		tag  string
		tags []string
		want string
	}{
		{"v0.1.0-rc.1", []string{"v0.1.0-rc.1"}, ""},
		{"v0.1.0", []string{"v0.1.0-rc.1", "v0.1.0"}, "latest"},
		{"v0.10.0", []string{"v0.9.0", "v0.10.0", "v0.11.0-rc.1"}, "latest"},
		{"v0.9.1", []string{"v0.9.0", "v0.9.1", "v0.10.0"}, ""},
	} {
		dir := repository(t, test.tags...)
		if out, err := bash(t, dir, test.tag, script(t, "latest"), "GITHUB_ENV="+dir+"/env"); err != nil {
			t.Errorf("%s: %v: %s", test.tag, err, out)
		} else if got := string(read(t, dir+"/env")); got != "LATEST="+test.want+"\n" {
			t.Errorf("%s of %v: %q", test.tag, test.tags, got)
		}
	}
}

// TestFilesAreOfOneRelease holds that the chart, the images that it and Kustomize
// name, and the chart's page at Artifact Hub are of the same version.
func TestFilesAreOfOneRelease(t *testing.T) {
	version, seen := "", 0
	for _, path := range []string{chart + "/Chart.yaml", "kustomize/base/kustomization.yaml", "kustomize/components/sidecar/sidecar.yaml"} {
		for _, m := range regexp.MustCompile(`(?m)^ *(?:version: |appVersion: "|newTag: |image: ghcr.io/llm-prober/prober:)([^"\n]+)`).FindAllSubmatch(read(t, path), -1) {
			seen++
			if version = cmp.Or(version, string(m[1])); string(m[1]) != version {
				t.Errorf("%s: %s, elsewhere %s", path, m[0], version)
			}
		}
	}
	if seen != 5 {
		t.Errorf("%d versions found, want 5: the test does not see them", seen)
	}
}

// TestWhatATagNeeds runs the script that refuses a tag. All files are those of the
// repository and of one release, V, but for one edit.
func TestWhatATagNeeds(t *testing.T) {
	version := string(regexp.MustCompile(`(?m)^appVersion: "(.+)"$`).FindSubmatch(read(t, chart+"/Chart.yaml"))[1])
	base, sidecar := "deploy/kustomize/base/kustomization.yaml", "deploy/kustomize/components/sidecar/sidecar.yaml"
	for _, test := range []struct{ file, from, to, want string }{
		{"CHANGELOG.md", "V", "V", ""},
		{"CHANGELOG.md", "## V ", "## V-rc.1 ", "CHANGELOG.md has no such release"},
		{"CHANGELOG.md", "## V ", "## " + strings.ReplaceAll(version, ".", "x") + " ", "CHANGELOG.md has no such release"},
		{base, "newTag: V", "newTag: V-rc.1", base + " is of another release"},
		{base, "newTag: V", "newTag: 1V", base + " is of another release"},
		{sidecar, "V", "9.9.9", sidecar + " is of another release"},
		{chart, "V", "9.9.9", "Chart.yaml is of another release"},
	} {
		dir := repository(t)
		files := map[string]string{"CHANGELOG.md": "# Changelog\n\n## V / 2027-02-01\n\n- [BUGFIX] new\n\n## 0.0.1 / 2027-01-31\n\n- [FEATURE] old\n"}
		for _, file := range []string{"deploy/helm/prober/Chart.yaml", base, sidecar} {
			files[file] = strings.ReplaceAll(string(read(t, "../"+file)), version, "V")
		}
		for file, text := range files {
			if strings.Contains(file, test.file) {
				text = strings.ReplaceAll(text, test.from, test.to)
			}
			write(t, filepath.Join(dir, file), strings.ReplaceAll(text, "V", version))
		}
		out, err := bash(t, dir, "v"+version, script(t, "what is released"))
		if (err == nil) != (test.want == "") || !strings.Contains(out, test.want) {
			t.Errorf("%s with %q: %v: %s, want %q", test.file, test.to, err, out, test.want)
		}
	}
	dir := repository(t)
	if out, err := bash(t, dir, "", "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m b"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := bash(t, dir, "v"+version, script(t, "what is released")); err == nil || !strings.Contains(out, "the tag is not on main") {
		t.Errorf("beside main: %v: %s", err, out)
	}
}

// TestNotesAreOfTheRelease runs the script that cuts them out of the changelog.
func TestNotesAreOfTheRelease(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n\n- [BUGFIX] c\n\n## 0.2.0 / 2027-02-01\n\n- [BUGFIX] b\n\n## 0.2.0-rc.1 / 2027-01-31\n\n- [FEATURE] a\n")
	for tag, want := range map[string]string{
		"v0.2.0":      "## 0.2.0 / 2027-02-01\n\n- [BUGFIX] b\n\n",
		"v0.2.0-rc.1": "## 0.2.0-rc.1 / 2027-01-31\n\n- [FEATURE] a\n",
		"v0.2":        "",
	} {
		out, err := bash(t, dir, tag, script(t, "notes"))
		if notes := string(read(t, dir+"/notes.md")); notes != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q (%v: %s), want %q", tag, notes, err, out, want)
		}
	}
}
