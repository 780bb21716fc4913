package main

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// compile compiles a program for a platform.
func compile(t *testing.T, platform string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prober")
	goos, arch, _ := strings.Cut(platform, "/")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, "./testdata/hello")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestWhatIsPushedIsWhatWasBuilt, byte by byte, under each name.
func TestWhatIsPushedIsWhatWasBuilt(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/prober:"
	dir := t.TempDir()
	var out bytes.Buffer
	if err := run([]string{"build", "-to", dir, compile(t, "linux/amd64"), compile(t, "linux/arm64")}, &out); err != nil {
		t.Fatal(err)
	}
	_, built, _ := strings.Cut(strings.TrimSpace(out.String()), " ")
	out.Reset()
	if err := run([]string{"push", "-from", filepath.Join(dir, "oci"), to + "0.1.0", to + "latest"}, &out); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.String()); got != built {
		t.Errorf("it says %s was pushed, and %s was built", got, built)
	}
	for _, tag := range []string{"0.1.0", "latest"} {
		ref, err := name.ParseReference(to + tag)
		if err != nil {
			t.Fatal(err)
		}
		index, err := remote.Index(ref)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := index.Digest()
		if err != nil || digest.String() != built {
			t.Errorf("%s is %s (%v), want %s", tag, digest, err, built)
		}
		manifest, err := index.IndexManifest()
		if err != nil || len(manifest.Manifests) != 2 {
			t.Fatalf("%s has %+v (%v), want two platforms", tag, manifest, err)
		}
		for _, image := range manifest.Manifests {
			if image.ArtifactType != "" {
				t.Errorf("%s has an artifact %q for an image: older skopeo copies that to another digest", tag, image.ArtifactType)
			}
		}
	}
}

// emptyLayout is a layout without an image.
func emptyLayout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := layout.Write(dir, empty.Index); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWhatIsNoImage(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"nothing":              {nil, "want one of"},
		"an unknown verb":      {[]string{"boil", text}, "want one of"},
		"no binary":            {[]string{"build"}, "want one of"},
		"a text":               {[]string{"build", text}, "build info"},
		"a binary for a Mac":   {[]string{"build", compile(t, "darwin/arm64")}, "for no Linux"},
		"a layout that is not": {[]string{"push", "-from", t.TempDir(), "localhost:1/prober:1"}, "read the layout"},
		"an empty layout":      {[]string{"push", "-from", emptyLayout(t), "localhost:1/prober:1"}, "not of image build"},
	} {
		if err := run(test.args, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
