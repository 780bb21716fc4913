package kube_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInjectedIsAdmitted injects the sidecar into the manifests that the tests of
// inject have, and sends them to the API server. Twice is as once.
func TestInjectedIsAdmitted(t *testing.T) {
	c := running(t)
	for _, path := range inputs(t, "../../internal/inject/testdata/*.yaml") {
		if strings.HasSuffix(path, ".injected.yaml") {
			continue // what comes out
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			once := inject(t, read(t, path))
			admitted(t, c, once, anything)
			if twice := inject(t, once); twice != once {
				t.Errorf("twice is not as once:\n%s", twice)
			}
		})
	}
}

// inject returns manifests with the sidecar.
func inject(t *testing.T, manifests string) string {
	t.Helper()
	binary := os.Getenv("PROBER_BINARY")
	if binary == "" {
		t.Fatal("PROBER_BINARY is not set: run make kube")
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, "inject", "-f", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(manifests), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return stdout.String()
}
