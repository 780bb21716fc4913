package main

import (
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push sends what is in a layout to a registry as it is, and prints the digest, by
// which it is to be signed. Who may do so is as in docker login.
func push(out io.Writer, dir string, references []string) error {
	index, err := readLayout(dir)
	if err != nil {
		return fmt.Errorf("read the layout: %w", err)
	}
	for _, reference := range references {
		to, err := name.ParseReference(reference)
		if err != nil {
			return err
		}
		if err := remote.WriteIndex(to, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("push %s: %w", reference, err)
		}
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, digest)
	return err
}

// readLayout returns the one image of a layout.
func readLayout(dir string) (v1.ImageIndex, error) {
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 || !manifest.Manifests[0].MediaType.IsIndex() {
		return nil, fmt.Errorf("%s is not of image build: %d images, or none of several platforms", dir, len(manifest.Manifests))
	}
	return top.ImageIndex(manifest.Manifests[0].Digest)
}
