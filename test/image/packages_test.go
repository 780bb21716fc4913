package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-prober/prober/test/program"
)

const packagesDir = "../../deploy/packages/"

// command runs a program that must succeed, or skips the test where it is not installed.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// TestUnit holds that systemd takes the unit, and what it thinks of its sandbox: at most 1.5 of 10 (1.1 by systemd
// 252).
func TestUnit(t *testing.T) {
	unit, err := os.ReadFile(packagesDir + "prober.service")
	must(t, err)
	path := t.TempDir() + "/prober.service"
	write(t, path, strings.NewReplacer("/usr/bin/prober", program.Binary(t, "PROBER_BINARY"), "man:prober(1) ", "").Replace(string(unit)))
	if said := command(t, ".", "systemd-analyze", "verify", path); said != "" {
		t.Error(said)
	}
	command(t, ".", "systemd-analyze", "security", "--offline=true", "--threshold=15", path)
}

// TestPackage installs, removes and purges the package of `make snapshot`, if there is one, and looks into its archive
// and at its checksums.
func TestPackage(t *testing.T) {
	const dist = "../../dist/release"
	packages, _ := filepath.Glob(dist + "/*_linux_amd64.deb")
	if len(packages) == 0 {
		t.Skip("make snapshot makes packages")
	}
	root := t.TempDir()
	for _, dir := range []string{"info", "updates", "triggers"} {
		must(t, os.MkdirAll(root+"/var/lib/dpkg/"+dir, 0o755))
	}
	write(t, root+"/var/lib/dpkg/status", "")
	dpkg := func(args ...string) {
		command(t, ".", "dpkg", append([]string{"--root=" + root, "--force-script-chrootless", "--force-not-root"}, args...)...)
	}
	has := func(want bool, paths ...string) {
		for _, path := range paths {
			if _, err := os.Stat(root + path); (err == nil) != want {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	dpkg("--install", packages[0])
	files := []string{
		"/usr/bin/prober", "/usr/lib/systemd/system/prober.service", "/usr/share/man/man1/prober.1.gz", "/usr/share/man/man1/prober-run.1.gz",
		"/usr/share/bash-completion/completions/prober", "/usr/share/zsh/vendor-completions/_prober", "/usr/share/fish/vendor_completions.d/prober.fish",
	}
	settings := []string{"/etc/prober/targets.yaml", "/etc/prober/prober.env"}
	has(true, append(files, settings...)...)
	command(t, ".", root+"/usr/bin/prober", "version")
	dpkg("--remove", "prober")
	has(false, files...)
	has(true, settings...)
	dpkg("--purge", "prober")
	has(false, settings...)
	archives, _ := filepath.Glob(dist + "/*_linux_amd64.tar.gz")
	for _, want := range []string{"/completions/prober.bash\n", "/man/man1/prober-run.1.gz\n", "/prober\n"} {
		if list := command(t, ".", "tar", "-tf", archives[0]); !strings.Contains(list, want) {
			t.Errorf("the archive has no %q:\n%s", want, list)
		}
	}
	command(t, dist, "sha256sum", "--check", "--ignore-missing", "--quiet", "checksums.txt")
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
