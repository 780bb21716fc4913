package deploy_test

import (
	"errors"
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
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Steps       []struct {
			Name, Uses, Run string // an action or a script of bash
			With            map[string]string
		}
	}
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

// TestWorkflowsMayLittle holds that a job has the permissions it lists and no others, leaves no token in its checkout, and
// runs no text of an event as a script; and that it takes the newest patch of the minor version of Go in go.mod. With
// go-version-file it took the first one, since go.mod names the least that is needed: https://github.com/actions/setup-go/issues/740.
func TestWorkflowsMayLittle(t *testing.T) {
	goMinor := regexp.MustCompile(`(?m)^go (\d+\.\d+)`)
	minor := string(goMinor.FindSubmatch(read(t, "../go.mod"))[1])
	for _, path := range append(glob(t, "../test/*/go.mod"), "../test/go.mod") {
		if m := goMinor.FindSubmatch(read(t, path)); m == nil || string(m[1]) != minor {
			t.Errorf("%s needs Go %s, the workflows have %s", path, m, minor)
		}
	}
	for file, w := range workflows(t) {
		if w.Permissions == nil || len(w.Permissions) > 0 {
			t.Errorf("%s: permissions %v for all of its jobs, want {}", file, w.Permissions)
		}
		for name, job := range w.Jobs {
			if len(job.Permissions) == 0 {
				t.Errorf("%s %s lists no permissions", file, name)
			}
			for _, s := range job.Steps {
				action, _, _ := strings.Cut(s.Uses, "@")
				if action == "actions/checkout" && s.With["persist-credentials"] != "false" {
					t.Errorf("%s %s: the token of the checkout stays on the disk", file, name)
				}
				if strings.Contains(s.Run, "${{") {
					t.Errorf("%s %s: an expression in a script; give it by env:\n%s", file, name, s.Run)
				}
				if action == "actions/setup-go" && (s.With["go-version"] != minor+".x" || s.With["check-latest"] != "true" || s.With["go-version-file"] != "") {
					t.Errorf("%s %s: Go by %v, want the newest %s.x", file, name, s.With, minor)
				}
				if action == "actions/setup-go" && file == "release.yml" && s.With["cache"] != "false" {
					t.Errorf("%s %s: what another workflow put into the cache would be released", file, name)
				}
			}
		}
	}
}

// TestActionsArePinned holds that each action is named by a commit, with its version
// beside it, and is the same everywhere.
func TestActionsArePinned(t *testing.T) {
	good := regexp.MustCompile(`^[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	seen := map[string]string{}
	for _, path := range glob(t, "../.github/workflows/*.yml") {
		for _, m := range regexp.MustCompile(`uses: ([\w-]+/[\w-]+)(?:/[\w-]+)?@(.*)`).FindAllStringSubmatch(string(read(t, path)), -1) {
			action, at := m[1], m[2]
			if other, ok := seen[action]; !good.MatchString(at) || ok && other != at {
				t.Errorf("%s: %s@%s is no commit with a version, or %s elsewhere", path, action, at, other)
			}
			seen[action] = at
		}
	}
	if len(seen) < 4 {
		t.Errorf("actions %v: the test does not see them", seen)
	}
}

// release runs the script of a step of release.yml in dir as GitHub runs it, on a tag. Git sees no repository but
// that in dir, also where the tests are run by one of its hooks.
func release(t *testing.T, dir, tag, name string) (string, error) {
	t.Helper()
	for _, job := range workflows(t)["release.yml"].Jobs {
		for _, s := range job.Steps {
			if s.Name == name && s.Run != "" {
				return bash(t, dir, s.Run, "GITHUB_REF_NAME="+tag, "RUNNER_TEMP="+dir, "GITHUB_ENV="+dir+"/env")
			}
		}
	}
	t.Fatalf("release.yml has no script %q", name)
	return "", nil
}

func bash(t *testing.T, dir, script string, environ ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir = dir
	outside := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cmd.Env = slices.Concat(outside, environ, []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"})
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// commit makes an empty commit in bash.
const commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a\n"

// repository is one of git's, with files, and tags on its one commit, which is on main.
func repository(t *testing.T, files map[string]string, tags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	setUp := "git init -q -b main\n" + commit + "git update-ref refs/remotes/origin/main HEAD\n"
	for _, tag := range tags {
		setUp += "git tag " + tag + "\n"
	}
	if out, err := bash(t, dir, setUp); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// TestWhatATagGets runs the scripts that say whether a tag's image is the latest, and that cut its notes out of the changelog.
func TestWhatATagGets(t *testing.T) {
	const changelog = "# Changelog\n\n## Unreleased\n\n- [BUGFIX] c\n\n## 0.2.0 / 2027-02-01\n\n- [BUGFIX] b\n\n" +
		"## 0.2.0-rc.1 / 2027-01-31\n\n- [FEATURE] a\n"
	for _, test := range []struct {
		step, tag, tags string
		file, want      string
	}{
		{"latest", "v0.1.0-rc.1", "v0.1.0-rc.1", "env", "LATEST=\n"},
		{"latest", "v0.1.0", "v0.1.0-rc.1 v0.1.0", "env", "LATEST=latest\n"},
		{"latest", "v0.10.0", "v0.9.0 v0.10.0 v0.11.0-rc.1", "env", "LATEST=latest\n"},
		{"latest", "v0.9.1", "v0.9.0 v0.9.1 v0.10.0", "env", "LATEST=\n"},
		{"notes", "v0.2.0", "", "notes.md", "## 0.2.0 / 2027-02-01\n\n- [BUGFIX] b\n\n"},
		{"notes", "v0.2.0-rc.1", "", "notes.md", "## 0.2.0-rc.1 / 2027-01-31\n\n- [FEATURE] a\n"},
		{"notes", "v0.2", "", "notes.md", ""},
	} {
		dir := repository(t, map[string]string{"CHANGELOG.md": changelog}, strings.Fields(test.tags)...)
		out, err := release(t, dir, test.tag, test.step)
		if got := string(read(t, dir+"/"+test.file)); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s of %s among %q: %q (%v: %s), want %q", test.step, test.tag, test.tags, got, err, out, test.want)
		}
	}
}

// TestWhatATagNeeds runs the script that refuses a tag. All files are those of the
// repository and of one release, V, but for one edit.
func TestWhatATagNeeds(t *testing.T) {
	named := regexp.MustCompile(`(?m)^ *(?:version: |appVersion: "|image: ghcr.io/llm-prober/prober:)([^"\n]+)`)
	versions := named.FindAllSubmatch(read(t, chart+"/Chart.yaml"), -1)
	version := string(versions[0][1])
	if len(versions) != 3 || string(versions[1][1]) != version || string(versions[2][1]) != version {
		t.Errorf("the chart is of the versions %q", versions)
	}
	chart, base := "deploy/helm/prober/Chart.yaml", "deploy/kustomize/base/kustomization.yaml"
	sidecar := "deploy/kustomize/components/sidecar/sidecar.yaml"
	for _, test := range []struct{ file, from, to, want string }{
		{"CHANGELOG.md", "V", "V", ""},
		{"CHANGELOG.md", "## V ", "## V-rc.1 ", "CHANGELOG.md has no such release"},
		{"CHANGELOG.md", "## V ", "## " + strings.ReplaceAll(version, ".", "x") + " ", "CHANGELOG.md has no such release"},
		{base, "newTag: V", "newTag: V-rc.1", base + " is of another release"},
		{base, "newTag: V", "newTag: 1V", base + " is of another release"},
		{sidecar, "V", "9.9.9", sidecar + " is of another release"},
		{chart, "V", "9.9.9", chart + " is of another release"},
	} {
		files := map[string]string{"CHANGELOG.md": "# Changelog\n\n## V / 2027-02-01\n\n- [BUGFIX] new\n\n## 0.0.1 / 2027-01-31\n\n- [FEATURE] old\n"}
		for _, file := range []string{chart, base, sidecar} {
			files[file] = strings.ReplaceAll(string(read(t, "../"+file)), version, "V")
		}
		files[test.file] = strings.ReplaceAll(files[test.file], test.from, test.to)
		for file, text := range files {
			files[file] = strings.ReplaceAll(text, "V", version)
		}
		dir := repository(t, files)
		if out, err := release(t, dir, "v"+version, "what is released"); (err == nil) != (test.want == "") || !strings.Contains(out, test.want) {
			t.Errorf("%s with %q: %v: %s, want %q", test.file, test.to, err, out, test.want)
		}
		if _, err := bash(t, dir, commit); err != nil {
			t.Fatal(err)
		}
		if out, err := release(t, dir, "v"+version, "what is released"); err == nil || !strings.Contains(out, "the tag is not on main") {
			t.Errorf("beside main: %v: %s", err, out)
		}
	}
}
