package cluster

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// startEtcd starts an etcd that keeps nothing safe, which is fast.
func (c *Cluster) startEtcd() error {
	client, err := freeAddress()
	if err != nil {
		return err
	}
	peer, err := freeAddress()
	if err != nil {
		return err
	}
	etcd, err := c.launch("etcd", "--data-dir", c.path("etcd"), "--unsafe-no-fsync", "--log-level", "warn",
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client, "--listen-peer-urls", "http://"+peer)
	if err != nil {
		return err
	}
	c.server = client // until the API server has one of its own
	return etcd.ready("http://"+client+"/health", http.DefaultClient)
}

// startAPIServer starts the API server over the etcd, and writes the kubeconfig.
func (c *Cluster) startAPIServer() error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	etcd := c.server
	c.server = address
	token := rand.Text()
	if err := errors.Join(
		writeKey(c.path("accounts.key")),
		os.WriteFile(c.path("tokens.csv"), []byte(token+`,administrator,1,"system:masters"`+"\n"), 0o600),
	); err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(address) // it was made by the kernel
	server, err := c.launch("kube-apiserver", "--etcd-servers", "http://"+etcd, "--secure-port", port, "--bind-address", "127.0.0.1",
		"--advertise-address", "127.0.0.1", "--cert-dir", c.path("certificates"), "--service-cluster-ip-range", "10.96.0.0/16",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", c.path("accounts.key"),
		"--service-account-signing-key-file", c.path("accounts.key"), "--token-auth-file", c.path("tokens.csv"),
		"--authorization-mode", "RBAC", "--allow-privileged", "--endpoint-reconciler-type", "none",
		"--disable-admission-plugins", "TaintNodesByCondition") // only the controller of node lifecycles would take the taint away
	if err != nil {
		return err
	}
	certificate := c.path("certificates/apiserver.crt")
	client, err := server.client(certificate)
	if err != nil {
		return err
	}
	if err := server.ready("https://"+address+"/readyz", client); err != nil {
		return err
	}
	return os.WriteFile(c.Kubeconfig, fmt.Appendf(nil, kubeconfig, certificate, address, token), 0o600)
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- {name: test, cluster: {certificate-authority: %s, server: "https://%s"}}
users:
- {name: administrator, user: {token: %s}}
contexts:
- {name: test, context: {cluster: test, user: administrator}}
current-context: test
`

// controllers are those that a chart meets: workloads, their services, accounts,
// and all that clears away.
const controllers = "deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,job-controller," +
	"disruption-controller,endpoints-controller,endpointslice-controller,serviceaccount-controller,root-ca-certificate-publisher-controller," +
	"namespace-controller,garbage-collector-controller,pod-garbage-collector-controller"

// startControllers starts the controller manager and the scheduler. They serve no requests.
func (c *Cluster) startControllers() error {
	_, err := c.launch("kube-controller-manager", "--kubeconfig", c.Kubeconfig, "--controllers", controllers, "--leader-elect=false",
		"--secure-port", "0", "--root-ca-file", c.path("certificates/apiserver.crt"),
		"--service-account-private-key-file", c.path("accounts.key"), "--kube-api-qps", "1000", "--kube-api-burst", "1000")
	if err != nil {
		return err
	}
	_, err = c.launch("kube-scheduler", "--kubeconfig", c.Kubeconfig, "--leader-elect=false", "--secure-port", "0")
	return err
}

// startKwok starts kwok with its own stages, and one of ours that completes a Pod
// of a Helm test.
func (c *Cluster) startKwok() error {
	ours := c.path("stage.yaml")
	if err := os.WriteFile(ours, stage, 0o600); err != nil {
		return err
	}
	args := []string{"--kubeconfig", c.Kubeconfig, "--manage-all-nodes", "--config", ours}
	for _, name := range []string{"node/fast/node-initialize", "pod/fast/pod-ready", "pod/fast/pod-complete", "pod/fast/pod-delete"} {
		args = append(args, "--config", filepath.Join(c.tools, "stage", name+".yaml"))
	}
	_, err := c.launch("kwok", args...)
	return err
}

// ready waits until a URL of the process answers 200.
func (p *process) ready(url string, client *http.Client) error {
	err := until(p.name, func() bool {
		response, err := client.Get(url) //nolint:noctx // bounded by the client
		return p.ended() || err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
	if p.ended() {
		return fmt.Errorf("%s has ended", p.name)
	}
	return err
}
