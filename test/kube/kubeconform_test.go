package kube_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestConformanceIsStrict: what the other tests rely on.
func TestConformanceIsStrict(t *testing.T) {
	location := location(t)
	if err := conforms(t, location, plain); err != nil {
		t.Error(err)
	}
	if err := conforms(t, location, strings.Replace(plain, "image:", "imgae:", 1)); err == nil || !strings.Contains(err.Error(), "imgae") {
		t.Errorf("an unknown key: %v", err)
	}
}

// conformance returns a check of manifests against schemas made of the API's own
// description and the CRDs, by kubeconform, without a cluster.
func conformance(t *testing.T) func(t *testing.T, manifests string) {
	t.Helper()
	location := location(t)
	return func(t *testing.T, manifests string) {
		t.Helper()
		if err := conforms(t, location, manifests); err != nil {
			t.Error(err)
		}
	}
}

func location(t *testing.T) string {
	t.Helper()
	tools, crds := os.Getenv("KUBE_TOOLS"), os.Getenv("KUBE_CRDS")
	if tools == "" || crds == "" {
		t.Fatal("KUBE_TOOLS or KUBE_CRDS is not set: run make kube")
	}
	return schemas(t, tools, crds)
}

// conforms returns what kubeconform says if it finds fault.
func conforms(t *testing.T, location, manifests string) error {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Getenv("KUBE_TOOLS")+"/kubeconform", "-strict", "-summary", "-schema-location", location, "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(manifests), &out, &out
	if err := cmd.Run(); err != nil {
		return errors.New(out.String())
	}
	if strings.Contains(out.String(), " 0 resources found") {
		return errors.New("kubeconform has found nothing to look at")
	}
	return nil
}
