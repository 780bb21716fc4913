//go:build linux

// Package image runs the container image and installs the Linux packages.
package image

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/llm-prober/prober/test/program"
)

// An image is what `make image` built of the Dockerfile, and how it is to be run.
type image struct {
	builder []string // buildah with a store of this test
	config  imageConfig
}

// An imageConfig is OCI's.
type imageConfig struct {
	User            string
	Entrypoint, Cmd []string
	ExposedPorts    map[string]struct{}
	Labels          map[string]string
}

func buildImage(t *testing.T) image {
	t.Helper()
	if _, err := exec.LookPath("buildah"); err != nil {
		t.Fatal("buildah is not in the PATH: run make e2e-image")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root may mount and change the root directory")
	}
	dir := t.TempDir()
	i := image{builder: []string{"buildah", "--root", dir + "/root", "--runroot", dir + "/run", "--storage-driver", "vfs"}}
	make := exec.CommandContext(t.Context(), "make", "-C", "../..", "image", "ENGINE="+strings.Join(i.builder, " "), "DIST="+dir, "IMAGE=prober:test")
	make.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") })
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var said struct{ OCIv1 struct{ Config imageConfig } }
	must(t, json.Unmarshal([]byte(i.buildah(t, "inspect", "--type", "image", "prober:test")), &said))
	i.config = said.OCIv1.Config
	return i
}

func (i image) buildah(t *testing.T, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(context.Background(), i.builder[0], append(i.builder[1:], args...)...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("buildah %v: %v\n%s", args, err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// container mounts the image's files, read-only, with one more file if its path is not empty, and returns where.
func (i image) container(t *testing.T, path, content string) string {
	t.Helper()
	id := i.buildah(t, "from", "prober:test")
	if path != "" {
		file := filepath.Join(t.TempDir(), "file")
		must(t, os.WriteFile(file, []byte(content), 0o444))
		i.buildah(t, "copy", id, file, path)
	}
	root := t.TempDir()
	must(t, syscall.Mount(i.buildah(t, "mount", id), root, "", syscall.MS_BIND, ""))
	must(t, syscall.Mount("", root, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV, ""))
	t.Cleanup(func() {
		must(t, syscall.Unmount(root, syscall.MNT_DETACH))
		i.buildah(t, "rm", id)
	})
	return root
}

// command returns what an engine would run in root: the entry point as the image's user, with no environment but what
// is given, and its arguments in place of the image's.
func (i image) command(ctx context.Context, root string, environ []string, args ...string) *exec.Cmd {
	if len(args) == 0 {
		args = i.config.Cmd
	}
	cmd := exec.CommandContext(ctx, i.config.Entrypoint[0], args...)
	cmd.Dir, cmd.Env = "/", append([]string{"PATH=/"}, environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	return cmd
}

// TestImage builds the image and runs it as a strict cluster does: read-only, as nobody, with nothing mounted.
func TestImage(t *testing.T) {
	i := buildImage(t)
	t.Run("holds one static binary", func(t *testing.T) { holdsOneBinary(t, i) })
	t.Run("runs", func(t *testing.T) { imageRuns(t, i) })
	t.Run("trusts what is mounted", func(t *testing.T) { imageTrusts(t, i) })
}

func holdsOneBinary(t *testing.T, i image) {
	c := i.config
	if c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/prober"}) || !slices.Equal(c.Cmd, []string{"run"}) || len(c.ExposedPorts) != 1 {
		t.Errorf("it is run as %+v", c)
	}
	for _, name := range []string{"title", "description", "source", "documentation", "licenses", "version", "revision"} {
		if label := c.Labels["org.opencontainers.image."+name]; label == "" || label == "devel" || label == "unknown" {
			t.Errorf("label %s is %q", name, label)
		}
	}
	root := i.container(t, "", "")
	files, err := os.ReadDir(root)
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("files %v, want prober alone", files)
	}
	info, err := files[0].Info()
	must(t, err)
	if owner := info.Sys().(*syscall.Stat_t); info.Mode() != 0o555 || owner.Uid != 0 || owner.Gid != 0 {
		t.Errorf("%v of %d:%d, want a file of root's that is read-only", info.Mode(), owner.Uid, owner.Gid)
	}
	prober, err := os.ReadFile(filepath.Join(root, "prober"))
	must(t, err)
	binary, err := elf.NewFile(bytes.NewReader(prober))
	must(t, err)
	if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("libraries %v (%v)", libraries, err)
	}
	tested, err := os.ReadFile(os.Getenv("PROBER_BINARY"))
	must(t, err)
	if !bytes.Equal(prober, tested) {
		t.Error("it holds another binary than the one that is tested")
	}
}

func imageRuns(t *testing.T, i image) {
	root := i.container(t, "", "")
	said, err := i.command(t.Context(), root, nil, "dashboards", "--output", "/dashboards").CombinedOutput()
	if err == nil || !strings.Contains(string(said), "read-only file system") {
		t.Errorf("it wrote to its root: %v %s", err, said)
	}
	p := program.Start(t, i.command(context.Background(), root, []string{
		"PROBER_TARGETS_0_URL=" + program.Simulate(t, "fast")[0], "PROBER_QPS=2", "PROBER_PROMPT_TOKENS=100", "PROBER_MAX_TOKENS=5",
		"PROBER_LISTEN_ADDRESS=127.0.0.1:0",
	}))
	base := p.Listening(t)
	p.Eventually(t, "readiness", func() bool { return program.Answers(t, base+"-/ready") })
	p.Eventually(t, "a good probe", func() bool { return program.Exposed(t, base, "llm_probe_probes_total", `outcome="ok"`) > 0 })
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Cmd.Process.Pid), "status"))
	must(t, err)
	for _, want := range []string{"Uid:\t65532\t65532\t65532\t65532\n", "Gid:\t65532\t65532\t65532\t65532\n", "CapEff:\t0000000000000000\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("its status has no %q", want)
		}
	}
	p.Interrupt(t)
}

// imageTrusts holds that the authorities within the binary are for where none are mounted, and add no trust beside
// those that are.
func imageTrusts(t *testing.T, i image) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for mounted, words := range map[string]string{"": "unknown authority", "/etc/ssl/certs/ca-certificates.crt": "HTTP 404"} {
		once := i.command(t.Context(), i.container(t, mounted, own), nil, "once", server.URL, "--model", "a", "--api", "openai-chat")
		if said, _ := once.CombinedOutput(); once.ProcessState.ExitCode() != 1 || !strings.Contains(string(said), words) {
			t.Errorf("mounted %q: exit code %d, %s", mounted, once.ProcessState.ExitCode(), said)
		}
	}
}
