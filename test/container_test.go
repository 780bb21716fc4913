//go:build linux

package test

import (
	"archive/tar"
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// loaded unpacks the archive that engines load to root, and returns the image that
// it says it is.
func loaded(t *testing.T, root string) image {
	t.Helper()
	archive, err := os.Open(filepath.Join(imageDir(t), "prober-linux-"+runtime.GOARCH+".tar"))
	must(t, err)
	defer archive.Close()
	files := map[string][]byte{}
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if err == io.EOF { //nolint:errorlint // as it is documented
			break
		}
		must(t, err)
		files[header.Name], err = io.ReadAll(r)
		must(t, err)
	}
	said := decodeJSON[[]struct {
		Config           string
		RepoTags, Layers []string
	}](t, files["manifest.json"])
	if len(said) != 1 || len(said[0].RepoTags) != 1 || !strings.HasPrefix(said[0].RepoTags[0], "ghcr.io/llm-prober/prober:") {
		t.Fatalf("the archive says %+v", said)
	}
	i := image{platform: "linux-" + runtime.GOARCH, digest: digest(files[said[0].Config]), config: decodeJSON[imageConfig](t, files[said[0].Config])}
	for n, layer := range said[0].Layers {
		i.unpack(t, files[layer], i.config.RootFS.DiffIDs[n])
	}
	must(t, os.WriteFile(filepath.Join(root, "prober"), i.prober, 0o555)) //nolint:gosec // as it is in the image
	return i
}

// A container is an image's files on a file system of their own that is
// read-only.
type container struct {
	root  string
	image image
}

// newContainer makes a container, with more files mounted into it. It needs root.
func newContainer(t *testing.T, mounts map[string]string) container {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount and change the root directory")
	}
	c := container{root: t.TempDir()}
	must(t, syscall.Mount("tmpfs", c.root, "tmpfs", 0, "mode=0755,size=64m"))
	t.Cleanup(func() { must(t, syscall.Unmount(c.root, syscall.MNT_DETACH)) })
	c.image = loaded(t, c.root)
	for path, content := range mounts {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(c.root, path)), 0o755)) //nolint:gosec // as in an image
		must(t, os.WriteFile(filepath.Join(c.root, path), []byte(content), 0o444))
	}
	must(t, syscall.Mount("tmpfs", c.root, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755,size=64m"))
	return c
}

// command is what an engine would run: the entry point as the image's user, with
// no environment but what is given, and its arguments in place of the image's.
func (c container) command(ctx context.Context, environ []string, args ...string) *exec.Cmd {
	if len(args) == 0 {
		args = c.image.config.Config.Cmd
	}
	args = append(c.image.config.Config.Entrypoint[1:], args...)
	cmd := exec.CommandContext(ctx, c.image.config.Config.Entrypoint[0], args...)
	cmd.Dir, cmd.Env = "/", append([]string{"PATH=/"}, environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot:     c.root,
		Credential: &syscall.Credential{Uid: 65532, Gid: 65532},
	}
	return cmd
}

// TestTheArchiveIsTheImage: what engines load is what is pushed.
func TestTheArchiveIsTheImage(t *testing.T) {
	i := loaded(t, t.TempDir())
	for _, pushed := range images(t, filepath.Join(imageDir(t), "oci")) {
		if pushed.platform == i.platform && pushed.digest != i.digest {
			t.Errorf("the archive holds %s, the layout %s", i.digest, pushed.digest)
		}
	}
}

// TestImageRuns as a strict cluster runs it: read-only, without a place to write,
// as nobody, with nothing mounted.
func TestImageRuns(t *testing.T) {
	c := newContainer(t, nil)
	said, err := c.command(t.Context(), nil, "version").CombinedOutput()
	if version := c.image.config.Config.Labels["org.opencontainers.image.version"]; err != nil || !strings.Contains(string(said), "prober "+version+" (revision ") {
		t.Errorf("version says %q (%v), the label %q", said, err, version)
	}
	said, err = c.command(t.Context(), nil, "dashboards", "--output", "/dashboards").CombinedOutput()
	if err == nil || !strings.Contains(string(said), "read-only file system") {
		t.Errorf("it wrote to its root: %v %s", err, said)
	}

	server := start(t, nil, "simulate", "--profile", "fast", "--listen", "127.0.0.1:0").after(t, "fast")
	p := run(t, c.command(context.Background(), []string{
		"PROBER_TARGETS_0_URL=" + server, "PROBER_QPS=2", "PROBER_PROMPT_TOKENS=100", "PROBER_MAX_TOKENS=5", "PROBER_LISTEN_ADDRESS=127.0.0.1:0",
	}))
	base := p.listening(t)
	eventually(t, "readiness", func() bool { _, r := get(t, base+"-/ready", ""); return r.StatusCode == http.StatusOK })
	eventually(t, "a good probe", func() bool {
		text, _ := get(t, base+"metrics", "text/plain")
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "llm_probe_probes_total{") && strings.Contains(line, `outcome="ok"`) && !strings.HasSuffix(line, " 0\n") {
				return true
			}
		}
		return false
	})
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "status"))
	must(t, err)
	for _, want := range []string{"Uid:\t65532\t65532\t65532\t65532\n", "Gid:\t65532\t65532\t65532\t65532\n", "CapEff:\t0000000000000000\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("its status has no %q", want)
		}
	}
	if code := p.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// unwrapped speaks TLS for a server, byte for byte, and returns where, and the
// authority of its certificate.
func unwrapped(t *testing.T, server string) (address, authority string) {
	t.Helper()
	pair := httptest.NewTLSServer(http.NotFoundHandler())
	pair.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: pair.TLS.Certificates, MinVersion: tls.VersionTLS13})
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				behind, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(behind, client); _ = behind.Close() }()
				_, _ = io.Copy(client, behind)
			}()
		}
	}()
	return listener.Addr().String(), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate().Raw}))
}

// TestImageTrustsWhatIsMounted: the authorities within the binary are for where
// none are mounted, and add no trust beside those that are.
func TestImageTrustsWhatIsMounted(t *testing.T) {
	server, err := url.Parse(start(t, nil, "simulate", "--profile", "fast", "--listen", "127.0.0.1:0").after(t, "fast"))
	must(t, err)
	address, own := unwrapped(t, server.Host)
	for name, test := range map[string]struct {
		mounts map[string]string
		code   int
		words  string
	}{
		"nothing is mounted":       {nil, 1, "unknown authority"},
		"its authority is mounted": {map[string]string{"etc/ssl/certs/ca-certificates.crt": own}, 0, "TTFT"},
	} {
		c := newContainer(t, test.mounts)
		once := c.command(t.Context(), nil, "once", "https://"+address, "--prompt-tokens", "100", "--max-tokens", "5")
		said, _ := once.CombinedOutput()
		if once.ProcessState.ExitCode() != test.code || !strings.Contains(string(said), test.words) {
			t.Errorf("%s: exit code %d, %s", name, once.ProcessState.ExitCode(), said)
		}
	}
}
