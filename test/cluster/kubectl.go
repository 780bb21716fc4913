package cluster

import (
	"bytes"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed node.yaml
var node string

//go:embed stage.yaml
var stage []byte

// addNode makes the node, and waits until kwok says that it is ready.
func (c *Cluster) addNode() error {
	if _, err := c.Run("kubectl", node, "apply", "-f", "-"); err != nil {
		return err
	}
	_, err := c.Run("kubectl", "", "wait", "--for=condition=Ready", "--timeout="+patience.String(), "node", "--all")
	return err
}

// awaitAccount waits for the account without which no Pod is admitted.
func (c *Cluster) awaitAccount() error {
	_, err := c.Run("kubectl", "", "wait", "--for=create", "--timeout="+patience.String(), "serviceaccount", "default")
	return err
}

// Run runs kubectl or helm as the administrator, and returns its standard output.
// The error has the standard error.
func (c *Cluster) Run(name, stdin string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(filepath.Join(c.tools, name), args...)
	cmd.Env = []string{"KUBECONFIG=" + c.Kubeconfig, "HOME=" + c.dir, "PATH=" + c.tools}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// Kubectl runs kubectl, which must succeed, and returns its standard output.
func (c *Cluster) Kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	return c.must(t, "kubectl", stdin, args...)
}

// Helm runs helm, which must succeed, and returns its standard output.
func (c *Cluster) Helm(t *testing.T, args ...string) string {
	t.Helper()
	return c.must(t, "helm", "", args...)
}

func (c *Cluster) must(t *testing.T, name, stdin string, args ...string) string {
	t.Helper()
	out, err := c.Run(name, stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
