// Package cluster is a real Kubernetes for tests: etcd, kube-apiserver with RBAC
// and Pod Security admission, kube-controller-manager, kube-scheduler, and kwok,
// which says of every Pod that it runs. No container is started by anyone.
// The programs come from test/kubetools; make e2e builds them.
package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// patience bounds every wait for a program: far above what a loaded machine needs.
const patience = 2 * time.Minute

// A Cluster runs from Start to Stop.
type Cluster struct {
	// Kubeconfig is the path of an administrator's configuration.
	Kubeconfig string

	dir       string // of all files; gone after Stop
	tools     string // the folder of the programs
	server    string // the API server's address, host and port
	processes []*process
}

// Start starts a cluster with one node. It has returned when Pods can be made in
// the default namespace. After an error nothing runs, and the error has the logs.
func Start() (*Cluster, error) {
	tools := os.Getenv("KUBE_TOOLS")
	if tools == "" {
		return nil, errors.New("KUBE_TOOLS is not set: run make kube")
	}
	dir, err := os.MkdirTemp("", "cluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, tools: tools, Kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := c.start(); err != nil {
		err = fmt.Errorf("cluster: %w\n%s", err, c.Logs())
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start() error {
	for _, step := range []func() error{
		c.startEtcd, c.startAPIServer, c.startControllers, c.startKwok, c.addNode, c.awaitAccount,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends all programs, the last started first, and removes their files.
func (c *Cluster) Stop() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].stop()
	}
	_ = os.RemoveAll(c.dir)
}

// Logs returns the last lines of what each program has said.
func (c *Cluster) Logs() string {
	const most = 25
	var all strings.Builder
	for _, p := range c.processes {
		lines := strings.Split(strings.TrimSpace(p.said()), "\n")
		fmt.Fprintf(&all, "--- %s\n%s\n", p.name, strings.Join(lines[max(0, len(lines)-most):], "\n"))
	}
	return all.String()
}

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

// until asks every so often until ok, or tells after patience what did not come.
func until(what string, ok func() bool) error {
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not come within %v", what, patience)
		}
	}
	return nil
}
