package kube_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRenderedConforms holds what the chart renders against schemas made of the
// API's own description, without a cluster.
func TestRenderedConforms(t *testing.T) {
	t.Parallel()
	tools, crds := os.Getenv("KUBE_TOOLS"), os.Getenv("KUBE_CRDS")
	if tools == "" || crds == "" {
		t.Fatal("KUBE_TOOLS or KUBE_CRDS is not set: run make e2e")
	}
	location := schemas(t, tools, crds)
	conforms := func(manifests string) (string, error) {
		cmd := exec.CommandContext(t.Context(), tools+"/kubeconform", "-strict", "-summary", "-verbose",
			"-schema-location", location, "-skip", "monitoring.googleapis.com/v1/PodMonitoring", "-")
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(manifests), &out, &out
		err := cmd.Run()
		return out.String(), err
	}
	if out, err := conforms(plain); err != nil || !strings.Contains(out, "Valid: 1") {
		t.Fatalf("a Deployment: %v: %s", err, out)
	}
	if out, err := conforms(strings.Replace(plain, "image:", "imgae:", 1)); err == nil || !strings.Contains(out, "imgae") {
		t.Fatalf("a Deployment with an unknown key: %v: %s", err, out)
	}
	for _, path := range inputs(t, "../chart/testdata/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if out, err := conforms(read(t, path)); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}
