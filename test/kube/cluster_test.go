package kube_test

import (
	"strings"
	"testing"
)

// TestClusterIsReal: what the other tests rely on. A Deployment becomes available,
// and Pod Security is enforced.
func TestClusterIsReal(t *testing.T) {
	c := running(t)
	ns := namespace(t, c, "smoke")
	c.Kubectl(t, plain, "--namespace", ns, "apply", "-f", "-")
	c.Kubectl(t, "", "--namespace", ns, "wait", "--for=condition=Available", "--timeout=60s", "deployment/plain")

	out, err := c.Run("kubectl", privileged, "--namespace", ns, "apply", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), `violates PodSecurity "restricted:latest"`) {
		t.Errorf("a privileged Pod is admitted: %s %v", out, err)
	}
	out, err = c.Run("kubectl", strings.Replace(plain, "replicas", "replicsa", 1), "--namespace", ns,
		"apply", "--dry-run=server", "--validate=strict", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), `unknown field "spec.replicsa"`) {
		t.Errorf("an unknown field is admitted: %s %v", out, err)
	}
}

const plain = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: plain}
spec:
  replicas: 2
  selector: {matchLabels: {app: plain}}
  template:
    metadata: {labels: {app: plain}}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: main
        image: example.invalid/plain
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`

const privileged = `
apiVersion: v1
kind: Pod
metadata: {name: privileged}
spec: {containers: [{name: main, image: example.invalid/plain, securityContext: {privileged: true}}]}
`
