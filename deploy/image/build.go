package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// What the Dockerfile says as well.
const (
	user    = "65532:65532"
	port    = "9464/tcp"
	program = "/prober"
)

// labels say what the image is, in the words of the OCI image specification.
func (b *binary) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         "prober",
		"org.opencontainers.image.description":   "Prometheus- and OpenTelemetry-native continuous prober for LLM inference endpoints",
		"org.opencontainers.image.source":        "https://github.com/llm-prober/prober",
		"org.opencontainers.image.documentation": "https://github.com/llm-prober/prober#readme",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.version":       b.version,
		"org.opencontainers.image.revision":      b.revision,
	}
}

// build writes the images of all binaries as one layout to dir/oci, and beside it,
// for each platform, an archive that engines load and an SBOM. What was in the
// layout before is gone. It prints where the layout is, and the digest by which
// registries will know what is in it.
func build(out io.Writer, repository, dir string, paths []string) error {
	index, tag := v1.ImageIndex(empty.Index), ""
	for _, path := range paths {
		b, err := open(path)
		if err == nil {
			err = b.static(path)
		}
		if err != nil {
			return err
		}
		image, err := b.image()
		if err != nil {
			return fmt.Errorf("make the image of %s: %w", path, err)
		}
		platform := v1.Platform{OS: b.os, Architecture: b.arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: noArtifact{image}, Descriptor: v1.Descriptor{Platform: &platform}})
		index, tag = mutate.Annotations(index, b.labels()).(v1.ImageIndex), b.tag()
		if err := b.save(image, repository, dir); err != nil {
			return err
		}
	}
	if err := writeLayout(index, tag, filepath.Join(dir, "oci")); err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s %s\n", filepath.Join(dir, "oci"), digest)
	return err
}

// A noArtifact is an image that an index calls nothing else: the library would write
// the type of its configuration as the type of an artifact, which older skopeo (1.9)
// leaves out when it copies, so that what arrives has another digest and no signature.
type noArtifact struct{ v1.Image }

// ArtifactType is empty.
func (noArtifact) ArtifactType() (string, error) { return "", nil }

// writeLayout writes an image to a layout of its own, under a name in it: skopeo and
// podman find no image of several platforms in a layout that has them all at its top.
func writeLayout(image v1.ImageIndex, tag, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(image, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag}))
}

// tag is the version, as a reference can have it.
func (b *binary) tag() string { return strings.ReplaceAll(b.version, "+", "-") }

// save writes an image's archive and the SBOM of its binary to dir.
func (b *binary) save(image v1.Image, repository, dir string) error {
	stem := filepath.Join(dir, "prober-"+b.os+"-"+b.arch)
	tag, err := name.NewTag(repository + ":" + b.tag())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for everybody
		return err
	}
	if err := tarball.WriteToFile(stem+".tar", tag, image); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return writeSBOM(b, stem+".spdx.json")
}

// image is the binary alone, from scratch.
func (b *binary) image() (v1.Image, error) {
	files, err := b.files()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: b.built}, CreatedBy: "COPY prober /prober"},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.os, b.arch, v1.Time{Time: b.built}
	config.Config = v1.Config{
		User: user, Entrypoint: []string{program}, Cmd: []string{"run"}, WorkingDir: "/",
		ExposedPorts: map[string]struct{}{port: {}}, Labels: b.labels(),
	}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, b.labels()).(v1.Image), nil
}

// files are all that is in the image: owned by root and read-only.
func (b *binary) files() ([]byte, error) {
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: program[1:], Mode: 0o555, Size: int64(len(b.content)), ModTime: b.built, Format: tar.FormatUSTAR,
	}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(b.content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return files.Bytes(), nil
}
