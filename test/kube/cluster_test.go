package kube_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-prober/prober/test/program"
)

// A cluster is a real Kubernetes: etcd, kube-apiserver with RBAC
// and Pod Security admission, kube-controller-manager, kube-scheduler, and kwok,
// which says of every Pod that it runs. No container is started by anyone.
// The programs come from test/kubetools; make kube builds them.
type cluster struct {
	dir        string // of all files
	tools      string // the folder of the programs
	kubeconfig string // path of an administrator's configuration
}

// startCluster starts a cluster with one node, for as long as the test. It returns when Pods can be made in
// the default namespace.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{dir: dir, tools: program.Binary(t, "KUBE_TOOLS"), kubeconfig: filepath.Join(dir, "kubeconfig")}
	c.startAPIServer(t, c.startEtcd(t))
	c.startControllers(t)
	c.kubectl(t, "", "apply", "-f", "testdata/node.yaml")
	c.kubectl(t, "", "wait", "--for=condition=Ready", "--timeout=2m", "node", "--all")
	c.kubectl(t, "", "wait", "--for=create", "--timeout=2m", "serviceaccount", "default") // without it no Pod is admitted
	return c
}

// launch starts a program of the tools. It ends with us, however we end.
func (c *cluster) launch(t *testing.T, name string, args ...string) *program.Process {
	t.Helper()
	cmd := exec.Command(filepath.Join(c.tools, name), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := program.Start(t, cmd)
	go func() {
		for range p.Lines { //nolint:revive // drained, so that the process can go on
		}
	}()
	return p
}

// startEtcd starts an etcd that keeps nothing safe, which is fast, and returns its URL.
func (c *cluster) startEtcd(t *testing.T) (url string) {
	t.Helper()
	url = "http://" + program.FreeAddress(t)
	etcd := c.launch(t, "etcd", "--data-dir", c.path("etcd"), "--unsafe-no-fsync", "--log-level", "warn",
		"--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", "http://"+program.FreeAddress(t))
	etcd.Eventually(t, "etcd", func() bool { return ready(http.DefaultClient, url+"/health") })
	return url
}

// startAPIServer starts the API server over the etcd, and writes the kubeconfig.
func (c *cluster) startAPIServer(t *testing.T, etcd string) {
	t.Helper()
	address, token := program.FreeAddress(t), rand.Text()
	must(t, writeKey(c.path("accounts.key")))
	must(t, os.WriteFile(c.path("tokens.csv"), []byte(token+`,administrator,1,"system:masters"`+"\n"), 0o600))
	_, port, _ := net.SplitHostPort(address) // it was made by the kernel
	server := c.launch(t, "kube-apiserver", "--etcd-servers", etcd, "--secure-port", port, "--bind-address", "127.0.0.1",
		"--advertise-address", "127.0.0.1", "--cert-dir", c.path("certificates"), "--service-cluster-ip-range", "10.96.0.0/16",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", c.path("accounts.key"),
		"--service-account-signing-key-file", c.path("accounts.key"), "--token-auth-file", c.path("tokens.csv"),
		"--authorization-mode", "RBAC", "--allow-privileged", "--endpoint-reconciler-type", "none",
		"--disable-admission-plugins", "TaintNodesByCondition") // only the controller of node lifecycles would take the taint away
	certificate, roots := c.path("certificates/apiserver.crt"), x509.NewCertPool()
	server.Eventually(t, "the certificate that the API server makes for itself", func() bool {
		data, err := os.ReadFile(certificate)
		return err == nil && roots.AppendCertsFromPEM(data)
	})
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	server.Eventually(t, "the API server", func() bool { return ready(client, "https://"+address+"/readyz") })
	must(t, os.WriteFile(c.kubeconfig, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- {name: test, cluster: {certificate-authority: %s, server: "https://%s"}}
users:
- {name: administrator, user: {token: %s}}
contexts:
- {name: test, context: {cluster: test, user: administrator}}
current-context: test
`, certificate, address, token), 0o600))
}

// controllers are those that a chart meets: workloads, their services, accounts,
// and all that clears away.
const controllers = "deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,job-controller," +
	"disruption-controller,endpoints-controller,endpointslice-controller,serviceaccount-controller,root-ca-certificate-publisher-controller," +
	"namespace-controller,garbage-collector-controller,pod-garbage-collector-controller"

// startControllers starts the controller manager and the scheduler, which serve no requests, and kwok with its own
// stages, and our own, which completes a Pod of a Helm test.
func (c *cluster) startControllers(t *testing.T) {
	t.Helper()
	c.launch(t, "kube-controller-manager", "--kubeconfig", c.kubeconfig, "--controllers", controllers, "--leader-elect=false",
		"--secure-port", "0", "--root-ca-file", c.path("certificates/apiserver.crt"),
		"--service-account-private-key-file", c.path("accounts.key"), "--kube-api-qps", "1000", "--kube-api-burst", "1000")
	c.launch(t, "kube-scheduler", "--kubeconfig", c.kubeconfig, "--leader-elect=false", "--secure-port", "0")
	args := []string{"--kubeconfig", c.kubeconfig, "--manage-all-nodes", "--config", "testdata/stage.yaml"}
	for _, name := range []string{"node/fast/node-initialize", "pod/fast/pod-ready", "pod/fast/pod-complete", "pod/fast/pod-delete"} {
		args = append(args, "--config", filepath.Join(c.tools, "stage", name+".yaml"))
	}
	c.launch(t, "kwok", args...)
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// run runs kubectl or helm as the administrator, and returns its standard output.
// The error has the standard error.
func (c *cluster) run(name, stdin string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(filepath.Join(c.tools, name), args...)
	cmd.Env = []string{"KUBECONFIG=" + c.kubeconfig, "HOME=" + c.dir, "PATH=" + c.tools}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// kubectl runs kubectl, which must succeed, and returns its standard output.
func (c *cluster) kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := c.run("kubectl", stdin, args...)
	must(t, err)
	return out
}

// helm runs helm, which must succeed, and returns its standard output.
func (c *cluster) helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.run("helm", "", args...)
	must(t, err)
	return out
}

// ready reports whether a URL answers 200.
func ready(client *http.Client, url string) bool {
	response, err := client.Get(url) //nolint:noctx // on the loopback it does not wait
	return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// writeKey writes a new key that signs the tokens of service accounts.
func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	return errors.Join(err, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
