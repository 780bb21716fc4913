package inject

import (
	_ "embed" // sidecar.yaml
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// What the sidecar is called, and where it serves its metrics.
const (
	sidecarName = "prober"
	sidecarPort = 9464
)

// sidecarYAML is what all sidecars have alike: the prober as a native sidecar, an init container that stays. It has no
// probes, for they would make the pod wait for it, or unready. It has no limit of the CPU: whoever is throttled measures
// the throttling. The kubelet runs its preStop hook when the pod begins to end, before it ends the server; an httpGet
// could not POST, and would not come from loopback.
//
//go:embed sidecar.yaml
var sidecarYAML []byte

// A sidecar is an init container of a pod.
type sidecar struct {
	Name            string         `yaml:"name"`
	Image           string         `yaml:"image"`
	Args            []string       `yaml:"args"`
	RestartPolicy   string         `yaml:"restartPolicy"`
	Ports           []any          `yaml:"ports"`
	Env             []envVar       `yaml:"env"`
	Lifecycle       map[string]any `yaml:"lifecycle"`
	Resources       map[string]any `yaml:"resources"`
	SecurityContext map[string]any `yaml:"securityContext"`
}

type (
	envVar struct {
		Name      string     `yaml:"name"`
		Value     string     `yaml:"value,omitempty"`
		ValueFrom *valueFrom `yaml:"valueFrom,omitempty"`
	}
	valueFrom struct {
		SecretKeyRef *secretKeyRef `yaml:"secretKeyRef,omitempty"`
	}
	secretKeyRef struct {
		Name     string `yaml:"name"`
		Key      string `yaml:"key"`
		Optional *bool  `yaml:"optional,omitempty"`
	}
)

// newSidecar is the sidecar that asks s, under the name target. The error is one of sidecar.yaml.
func newSidecar(target string, s serving, o Options) (car sidecar, err error) {
	err = yaml.Unmarshal(sidecarYAML, &car)
	car.Image, car.Env = o.Image, environ(target, s, o)
	return car, err
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
