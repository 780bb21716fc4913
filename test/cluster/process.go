package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A process is a program of the cluster. What it says is in a file.
type process struct {
	name   string
	log    string // path
	cmd    *exec.Cmd
	exited chan struct{} // closed at its end
}

// launch starts a program of the tools.
func (c *Cluster) launch(name string, args ...string) (*process, error) {
	p := &process{name: name, log: c.path(name + ".log"), exited: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own descriptor
	p.cmd = exec.Command(filepath.Join(c.tools, name), args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // with us, however we end
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // its log says why
		close(p.exited)
	}()
	c.processes = append(c.processes, p)
	return p, nil
}

// ended reports whether the process is no more.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// stop asks the process to end, and ends it after ten seconds.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

func (p *process) said() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
