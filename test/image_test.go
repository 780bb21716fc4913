package test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// These tests read what `make image` wrote with code that is not the one which
// wrote it.

// imageLimit bounds what is pulled for one platform, in bytes.
const imageLimit = 20 << 20

// A descriptor is how OCI refers to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations"`
	Platform    struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
	} `json:"platform"`
}

// A manifest is an index of images, or an image.
type manifest struct {
	MediaType   string            `json:"mediaType"`
	Manifests   []descriptor      `json:"manifests"`
	Config      descriptor        `json:"config"`
	Layers      []descriptor      `json:"layers"`
	Annotations map[string]string `json:"annotations"`
}

// An imageConfig is how an image is run.
type imageConfig struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Config       struct {
		User         string              `json:"User"`
		Env          []string            `json:"Env"`
		Entrypoint   []string            `json:"Entrypoint"`
		Cmd          []string            `json:"Cmd"`
		ExposedPorts map[string]struct{} `json:"ExposedPorts"`
		Labels       map[string]string   `json:"Labels"`
	} `json:"config"`
	RootFS struct {
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// An image is one platform of the layout.
type image struct {
	platform string // as in linux-amd64
	digest   string // of its configuration: what engines call its id
	config   imageConfig
	size     int64 // of all that is pulled, in bytes
	headers  []tar.Header
	prober   []byte
}

func imageDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PROBER_IMAGE")
	if dir == "" {
		t.Fatal("PROBER_IMAGE is not set: run make e2e")
	}
	return dir
}

// blob returns what a descriptor refers to, which must be what it says.
func blob(t *testing.T, layout string, d descriptor) []byte {
	t.Helper()
	algorithm, sum, _ := strings.Cut(d.Digest, ":")
	content, err := os.ReadFile(filepath.Join(layout, "blobs", algorithm, sum))
	must(t, err)
	if digest(content) != d.Digest || int64(len(content)) != d.Size {
		t.Fatalf("%s is %d bytes of %s", d.Digest, len(content), digest(content))
	}
	return content
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func decodeJSON[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	must(t, json.Unmarshal(text, &v))
	return v
}

// named reads the top of a layout, and returns the one image of all platforms there.
func named(t *testing.T, layout string) descriptor {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(layout, "index.json"))
	must(t, err)
	top := decodeJSON[manifest](t, text).Manifests
	if len(top) != 1 || top[0].MediaType != "application/vnd.oci.image.index.v1+json" {
		t.Fatalf("the layout has %+v, want one image of all platforms", top)
	}
	return top[0]
}

// images reads a layout.
func images(t *testing.T, layout string) []image {
	t.Helper()
	var list []image
	for _, d := range decodeJSON[manifest](t, blob(t, layout, named(t, layout))).Manifests {
		m := decodeJSON[manifest](t, blob(t, layout, d))
		i := image{
			platform: d.Platform.OS + "-" + d.Platform.Architecture, digest: m.Config.Digest, size: m.Config.Size,
			config: decodeJSON[imageConfig](t, blob(t, layout, m.Config)),
		}
		if i.config.OS+"-"+i.config.Architecture != i.platform {
			t.Errorf("the index says %s, the image %s-%s", i.platform, i.config.OS, i.config.Architecture)
		}
		for n, layer := range m.Layers {
			i.size += layer.Size
			i.unpack(t, blob(t, layout, layer), i.config.RootFS.DiffIDs[n])
		}
		list = append(list, i)
	}
	return list
}

// unpack adds what is in a layer.
func (i *image) unpack(t *testing.T, layer []byte, sum string) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(layer))
	must(t, err)
	files, err := io.ReadAll(unzipped)
	must(t, err)
	if digest(files) != sum {
		t.Errorf("%s: a layer is %s, the configuration says %s", i.platform, digest(files), sum)
	}
	for r := tar.NewReader(bytes.NewReader(files)); ; {
		header, err := r.Next()
		if err == io.EOF { //nolint:errorlint // as it is documented
			return
		}
		must(t, err)
		i.headers = append(i.headers, *header)
		if header.Name == "prober" {
			i.prober, err = io.ReadAll(r)
			must(t, err)
		}
	}
}

// TestImageIsOneStaticBinary: no shell, no library, nothing that anybody may write
// or that runs as another user than the one who starts it.
func TestImageIsOneStaticBinary(t *testing.T) {
	machines := map[string]elf.Machine{"linux-amd64": elf.EM_X86_64, "linux-arm64": elf.EM_AARCH64}
	found := images(t, filepath.Join(imageDir(t), "oci"))
	for _, i := range found {
		t.Logf("%s: %.1f MB to pull, %.1f MB unpacked", i.platform, float64(i.size)/1e6, float64(len(i.prober))/1e6)
		if i.size > imageLimit {
			t.Errorf("%s: %d bytes to pull, want at most %d", i.platform, i.size, imageLimit)
		}
		if len(i.headers) != 1 {
			t.Fatalf("%s: files %v, want prober alone", i.platform, i.headers)
		}
		h := i.headers[0]
		if h.Name != "prober" || h.Typeflag != tar.TypeReg || h.Mode != 0o555 || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s: %+v, want a file of root's that is read-only", i.platform, h)
		}
		f, err := elf.NewFile(bytes.NewReader(i.prober))
		must(t, err)
		if f.Machine != machines[i.platform] {
			t.Errorf("%s: a binary for %v", i.platform, f.Machine)
		}
		if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
			t.Errorf("%s: libraries %v (%v)", i.platform, libraries, err)
		}
	}
	if !slices.ContainsFunc(found, func(i image) bool { return i.platform == "linux-"+runtime.GOARCH }) {
		t.Errorf("no image for this machine")
	}
}

// TestLayoutNamesItsImage: skopeo and podman ask for a name, or for one image alone.
func TestLayoutNamesItsImage(t *testing.T) {
	layout := filepath.Join(imageDir(t), "oci")
	name := named(t, layout).Annotations["org.opencontainers.image.ref.name"]
	for _, i := range images(t, layout) {
		if version := i.config.Config.Labels["org.opencontainers.image.version"]; name == "" || name != strings.ReplaceAll(version, "+", "-") {
			t.Errorf("%s: the layout calls %s %q", i.platform, version, name)
		}
	}
}

// TestImageIsTheTestedBinary: all other tests here are of what is in the image.
func TestImageIsTheTestedBinary(t *testing.T) {
	tested, err := os.ReadFile(os.Getenv("PROBER_BINARY"))
	must(t, err)
	for _, i := range images(t, filepath.Join(imageDir(t), "oci")) {
		if i.platform == "linux-"+runtime.GOARCH && !bytes.Equal(i.prober, tested) {
			t.Errorf("%s: it holds another binary than the one that is tested", i.platform)
		}
	}
}

// TestImageIsWhatTheDockerfileSays: whoever builds with Docker gets the same.
func TestImageIsWhatTheDockerfileSays(t *testing.T) {
	text, err := os.ReadFile("../Dockerfile")
	must(t, err)
	_, last, ok := strings.Cut(string(text), "\nFROM scratch\n")
	if !ok {
		t.Fatal("the Dockerfile is not from scratch")
	}
	said := func(instruction string) string {
		found := regexp.MustCompile(`(?m)^` + instruction + ` (.*)$`).FindStringSubmatch(last)
		if found == nil {
			t.Fatalf("no %s in the Dockerfile", instruction)
		}
		return found[1]
	}
	labels := map[string]string{}
	for _, l := range regexp.MustCompile(`(org\.opencontainers\.\S+)="([^"]*)"`).FindAllStringSubmatch(last, -1) {
		labels[l[1]] = l[2]
	}
	for _, i := range images(t, filepath.Join(imageDir(t), "oci")) {
		c := i.config.Config
		labels["org.opencontainers.image.version"] = c.Labels["org.opencontainers.image.version"]
		labels["org.opencontainers.image.revision"] = c.Labels["org.opencontainers.image.revision"]
		if c.User != said("USER") || c.User != "65532:65532" {
			t.Errorf("user %q, the Dockerfile says %q", c.User, said("USER"))
		}
		if !slices.Equal(c.Entrypoint, decodeJSON[[]string](t, []byte(said("ENTRYPOINT")))) || !slices.Equal(c.Cmd, decodeJSON[[]string](t, []byte(said("CMD")))) {
			t.Errorf("it runs %q %q, the Dockerfile says %s %s", c.Entrypoint, c.Cmd, said("ENTRYPOINT"), said("CMD"))
		}
		if _, ok := c.ExposedPorts[said("EXPOSE")+"/tcp"]; !ok || len(c.ExposedPorts) != 1 {
			t.Errorf("ports %v, the Dockerfile says %s", c.ExposedPorts, said("EXPOSE"))
		}
		if len(labels) != 7 || !reflect.DeepEqual(c.Labels, labels) {
			t.Errorf("labels %v, the Dockerfile says %v", c.Labels, labels)
		}
		if len(c.Env) > 0 {
			t.Errorf("environment %v", c.Env)
		}
	}
}

// TestImageIsReproducible builds it once more, elsewhere.
func TestImageIsReproducible(t *testing.T) {
	before, again := imageDir(t), t.TempDir()
	var platforms []string
	for _, i := range images(t, filepath.Join(before, "oci")) {
		platforms = append(platforms, strings.Replace(i.platform, "-", "/", 1))
	}
	make := exec.CommandContext(t.Context(), "make", "-C", "..", "image", "DIST="+again, "IMAGE_PLATFORMS="+strings.Join(platforms, " "))
	make.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") })
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	same := func(name string) {
		one, err := os.ReadFile(filepath.Join(before, name))
		must(t, err)
		two, err := os.ReadFile(filepath.Join(again, "image", name))
		must(t, err)
		t.Logf("%s %s", digest(one), name)
		if !bytes.Equal(one, two) {
			t.Errorf("%s is %s, and another time %s", name, digest(one), digest(two))
		}
	}
	same("oci/index.json")
	for _, i := range images(t, filepath.Join(before, "oci")) {
		same("prober-" + i.platform + ".tar")
		same("prober-" + i.platform + ".spdx.json")
	}
}

// TestSBOMListsWhatIsLinked holds the SBOM against what the Go tool says of the
// source.
func TestSBOMListsWhatIsLinked(t *testing.T) {
	for _, i := range images(t, filepath.Join(imageDir(t), "oci")) {
		text, err := os.ReadFile(filepath.Join(imageDir(t), "prober-"+i.platform+".spdx.json"))
		must(t, err)
		sbom := decodeJSON[struct {
			SPDXVersion string
			Packages    []struct {
				Name, VersionInfo string
				Checksums         []struct{ ChecksumValue string }
			}
			Relationships []struct{ RelationshipType string }
		}](t, text)
		var listed []string
		for _, p := range sbom.Packages[1:] {
			if p.Name != "stdlib" {
				listed = append(listed, p.Name+"@"+p.VersionInfo)
			}
		}
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}{{end}}{{end}}", "./cmd/prober")
		list.Dir, list.Env = "..", append(os.Environ(), "CGO_ENABLED=0", "GOOS="+i.config.OS, "GOARCH="+i.config.Architecture)
		out, err := list.Output()
		must(t, err)
		linked := strings.Fields(string(out))
		slices.Sort(linked)
		linked = slices.Compact(linked)
		slices.Sort(listed)
		if len(linked) < 20 || !slices.Equal(listed, linked) {
			t.Errorf("%s: it lists\n%s\nlinked are\n%s", i.platform, strings.Join(listed, "\n"), strings.Join(linked, "\n"))
		}
		if sums := sbom.Packages[0].Checksums; len(sums) != 1 || "sha256:"+sums[0].ChecksumValue != digest(i.prober) {
			t.Errorf("%s: it is of another binary than the image holds", i.platform)
		}
		if sbom.SPDXVersion != "SPDX-2.3" || len(sbom.Relationships) != len(sbom.Packages) {
			t.Errorf("%s: %s with %d relationships of %d packages", i.platform, sbom.SPDXVersion, len(sbom.Relationships), len(sbom.Packages))
		}
	}
}
