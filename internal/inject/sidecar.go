package inject

import (
	"fmt"
	"slices"
)

// What the sidecar is called, and where it serves its metrics.
const (
	sidecarName = "prober"
	sidecarPort = 9464
)

// A sidecar is the prober as a native sidecar: an init container that stays.
// It has no probes, for they would make the pod wait for it, or unready.
// It has no limit of the CPU: whoever is throttled measures the throttling.
type sidecar struct {
	Name            string          `yaml:"name"            json:"name"`
	Image           string          `yaml:"image"           json:"image"`
	Args            []string        `yaml:"args"            json:"args"`
	RestartPolicy   string          `yaml:"restartPolicy"   json:"restartPolicy"`
	Ports           []namedPort     `yaml:"ports"           json:"ports"`
	Env             []envVar        `yaml:"env"             json:"env"`
	Lifecycle       lifecycle       `yaml:"lifecycle"       json:"lifecycle"`
	Resources       resources       `yaml:"resources"       json:"resources"`
	SecurityContext securityContext `yaml:"securityContext" json:"securityContext"`
}

type (
	namedPort struct {
		Name          string `yaml:"name"          json:"name"`
		ContainerPort int    `yaml:"containerPort" json:"containerPort"`
	}
	envVar struct {
		Name      string     `yaml:"name"                json:"name"`
		Value     string     `yaml:"value,omitempty"     json:"value,omitempty"`
		ValueFrom *valueFrom `yaml:"valueFrom,omitempty" json:"valueFrom,omitempty"`
	}
	valueFrom struct {
		SecretKeyRef *secretKeyRef `yaml:"secretKeyRef,omitempty" json:"secretKeyRef,omitempty"`
	}
	secretKeyRef struct {
		Name     string `yaml:"name"               json:"name"`
		Key      string `yaml:"key"                json:"key"`
		Optional *bool  `yaml:"optional,omitempty" json:"optional,omitempty"`
	}
	lifecycle struct {
		PreStop struct {
			Exec struct {
				Command []string `yaml:"command" json:"command"`
			} `yaml:"exec" json:"exec"`
		} `yaml:"preStop" json:"preStop"`
	}
	resources struct {
		Requests amounts `yaml:"requests" json:"requests"`
		Limits   amounts `yaml:"limits"   json:"limits"`
	}
	amounts struct {
		CPU    string `yaml:"cpu,omitempty" json:"cpu,omitempty"`
		Memory string `yaml:"memory"        json:"memory"`
	}
	securityContext struct {
		RunAsNonRoot             bool `yaml:"runAsNonRoot"             json:"runAsNonRoot"`
		RunAsUser                int  `yaml:"runAsUser"                json:"runAsUser"`
		RunAsGroup               int  `yaml:"runAsGroup"               json:"runAsGroup"`
		ReadOnlyRootFilesystem   bool `yaml:"readOnlyRootFilesystem"   json:"readOnlyRootFilesystem"`
		AllowPrivilegeEscalation bool `yaml:"allowPrivilegeEscalation" json:"allowPrivilegeEscalation"`
		Capabilities             struct {
			Drop []string `yaml:"drop" json:"drop"`
		} `yaml:"capabilities" json:"capabilities"`
		SeccompProfile struct {
			Type string `yaml:"type" json:"type"`
		} `yaml:"seccompProfile" json:"seccompProfile"`
	}
)

// newSidecar is the sidecar that asks s, under the name target.
func newSidecar(target string, s serving, o Options) sidecar {
	c := sidecar{
		Name:          sidecarName,
		Image:         o.Image,
		Args:          []string{"run"},
		RestartPolicy: "Always",
		Ports:         []namedPort{{Name: "prober", ContainerPort: sidecarPort}},
		Env:           environ(target, s, o),
		Resources:     resources{Requests: amounts{CPU: "200m", Memory: "128Mi"}, Limits: amounts{Memory: "128Mi"}},
		SecurityContext: securityContext{
			RunAsNonRoot: true, RunAsUser: 65532, RunAsGroup: 65532, ReadOnlyRootFilesystem: true,
		},
	}
	// The kubelet runs it when the pod begins to end, before it ends the server. Its
	// httpGet cannot POST, and does not come from loopback.
	c.Lifecycle.PreStop.Exec.Command = []string{"/prober", "drain"}
	c.SecurityContext.Capabilities.Drop = []string{"ALL"}
	c.SecurityContext.SeccompProfile.Type = "RuntimeDefault"
	return c
}

// environ are the variables of the sidecar.
func environ(target string, s serving, o Options) []envVar {
	scheme := "http"
	if s.tls {
		scheme = "https"
	}
	vars := []envVar{
		{Name: "PROBER_TARGETS_0_URL", Value: fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, s.port, s.server.base)},
		{Name: "PROBER_TARGETS_0_NAME", Value: target},
		{Name: "PROBER_WAIT_FOR_READY", Value: "30m"},
		{Name: "PROBER_DRAIN_ENDPOINT", Value: "on"},
		{Name: "GOMEMLIMIT", Value: "115MiB"},
	}
	if s.tls {
		vars = append(vars, envVar{Name: "PROBER_TARGETS_0_INSECURE_SKIP_VERIFY", Value: "on"})
	}
	switch {
	case o.Key != Secret{}:
		optional := true // a Secret that is not there would keep the pod from starting: refused probes say so as well
		vars = append(vars, envVar{Name: "PROBER_API_KEY", ValueFrom: &valueFrom{SecretKeyRef: &secretKeyRef{Name: o.Key.Name, Key: o.Key.Key, Optional: &optional}}})
	case s.key != nil:
		vars = append(vars, envVar{Name: "PROBER_API_KEY", ValueFrom: s.key})
	}
	for _, e := range o.Env {
		vars = slices.DeleteFunc(vars, func(v envVar) bool { return v.Name == e.Name })
		vars = append(vars, envVar{Name: e.Name, Value: e.Value})
	}
	return vars
}
