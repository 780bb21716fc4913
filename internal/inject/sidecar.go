package inject

import (
	"cmp"
	_ "embed" // sidecar.yaml
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	sidecarName = "prober"
	sidecarPort = 9464 // of its metrics
)

// sidecarYAML is what all sidecars have alike: the prober as a native sidecar, an init container that stays. It has no probes, for
// which the pod would wait, and no limit of the CPU: a throttled prober measures the throttling.
//
//go:embed sidecar.yaml
var sidecarYAML []byte

type sidecar struct {
	Name, Image string
	Env         []Env
	Rest        map[string]any `yaml:",inline"`
}

// An Env is a variable of a container.
type Env struct {
	Name      string
	Value     string         `yaml:",omitempty"`
	ValueFrom map[string]any `yaml:"valueFrom,omitempty"`
}

// vantage ends the names of what sidecars ask. A prober outside calls the service by the workload's own name, and alerts take all
// of one name together: sidecars would keep them silent while the service is down.
const vantage = "-engine"

// newSidecar is the sidecar that asks s in p, by the name of the annotation, or that of the workload and the vantage.
func newSidecar(p pod, s serving, o Options) (car sidecar) {
	_ = yaml.Unmarshal(sidecarYAML, &car) // it is a part of the program
	name := cmp.Or(p.label, s.container.Name)
	name = name[:min(len(name), 100-len(vantage))] + vantage // of a target, which has 100 characters at most
	car.Image = o.Image
	url := fmt.Sprintf("://127.0.0.1:%d%s", s.port, s.server.Base)
	car.Env[0].Value, car.Env[1].Value = "http"+url, cmp.Or(p.meta.Annotations[nameOf], name)
	if s.tls {
		car.Env[0].Value = "https" + url
		car.Env = append(car.Env, Env{Name: "PROBER_TARGETS_0_INSECURE_SKIP_VERIFY", Value: "on"})
	}
	if key, _ := s.apiKey(o.Key); key != nil {
		car.Env = append(car.Env, Env{Name: "PROBER_API_KEY", ValueFrom: key})
	}
	for _, e := range o.Env {
		car.Env = append(slices.DeleteFunc(car.Env, func(v Env) bool { return v.Name == e.Name }), e)
	}
	return car
}

// A serving is what the sidecar asks.
type serving struct {
	container container
	server    server
	flags     map[string]string // with which it is started, as of [container.flags]
	port      uint64            // 1 to 65535
	guessed   bool              // port is the default one, and the manifest names others
	tls       bool
}

// serving is what the sidecar of p asks: without a container, nothing. The error is [usage.Problems], or why p is left alone.
func (r *run) serving(p pod) (s serving, err error) {
	said := p.meta.Annotations[annotation]
	wanted := said == "true" || len(r.options.Workloads) > 0
	switch {
	case said == "false":
		return s, errors.New("its annotation " + annotation + " says so")
	case said != "" && said != "true":
		return s, p.problem(fmt.Sprintf("annotation %s is %q", annotation, said), `want "true" or "false"`)
	case text(p.object, "kind") == "LLMInferenceService":
		return s, errors.New("its port and TLS come from the LLMInferenceServiceConfig in the cluster: put the sidecar there")
	}
	s, why := modelServer(p, wanted)
	switch known := s.container.Name != ""; {
	case !known && wanted:
		return s, p.problem("wants the sidecar, but which of its containers is the model server is not known", "name it by the annotation "+serverOf)
	case why != "":
		return s, fmt.Errorf("%s; the annotation %s: \"true\" adds it all the same", why, annotation)
	case !known:
		return s, nil
	}
	s.tls = s.has("--ssl-keyfile", "--ssl-certfile", "--ssl-key-file", "--ssl-cert-file", "--ssl") // vLLM and SGLang, llama.cpp, LMDeploy
	if text := r.findPort(p, &s); text != "" {
		return s, p.problem("container "+s.container.Name+text, "say where it listens by the annotation "+portOf)
	}
	return s, nil
}

// modelServer is the container of a pod that its annotation names, the first that is recognized, or if one is wanted the only one;
// without a name there is none. why says why it is not to be asked, or what nearly was one.
func modelServer(p pod, wanted bool) (s serving, why string) {
	name := p.meta.Annotations[serverOf]
	for _, c := range p.Containers {
		one, ok := recognize(c)
		switch {
		case c.Name == name || name == "" && (ok || wanted && len(p.Containers) == 1):
			return one, halved(p, one, wanted)
		case name == "" && one.server.Name != "":
			why = fmt.Sprintf("container %s has the image of %s, but its command starts no server that is known", c.Name, one.server.Name)
		}
	}
	return s, why
}

// findPort finds where a server listens: by the annotation, the options, its container's port called http, its own flags and
// variables, or what is usual for it. It says what is wrong.
func (r *run) findPort(p pod, s *serving) (wrong string) {
	said := p.meta.Annotations[portOf]
	if said == "" && r.options.Port > 0 {
		said = fmt.Sprint(r.options.Port)
	}
	said = cmp.Or(said, s.container.port("name", "http"), s.flags["--port"], s.flags[s.server.Flag], s.container.env(s.server.Env).Value)
	if said == "" { // KubeRay calls the port of Ray Serve serve
		said = cmp.Or(s.server.Port, s.container.port("name", "serve"))
		s.guessed = len(s.container.Ports) > 0 && s.container.port("containerPort", said) == ""
	}
	if _, after, err := net.SplitHostPort(said); err == nil {
		said = after
	}
	var err error
	s.port, err = strconv.ParseUint(said, 10, 16)
	switch {
	case said == "":
		return ": its port is not known"
	case err != nil || s.port == 0:
		return fmt.Sprintf(": its port is %q, which is none", said)
	case s.port == sidecarPort:
		return " listens on port 9464, which is the prober's: let it listen elsewhere"
	}
	return ""
}

func (s serving) has(flags ...string) bool {
	return slices.ContainsFunc(flags, func(flag string) bool { _, ok := s.flags[flag]; return ok })
}

// variable is the name of the variable that is all of a word: $(NAME), ${NAME} or $NAME; empty if there is none.
func variable(word string) string {
	if !strings.HasPrefix(word, "$") {
		return ""
	}
	name, _, _ := strings.Cut(strings.Trim(word, "$(){}"), ":-")
	return name
}

// env is a variable of a container, without a name if it has none; the last of a name counts.
func (c container) env(name string) (e Env) {
	for _, one := range c.Env {
		if one.Name == name {
			e = one
		}
	}
	return e
}

// port is the number of the first port of a container that has a value under a key; empty if there is none.
func (c container) port(key, value string) string {
	for _, p := range c.Ports {
		if p[key] == value {
			return p["containerPort"]
		}
	}
	return ""
}

// apiKey is the valueFrom of a server's API key, or nil. It is bare if written out, or from where it cannot be taken over.
func (s serving) apiKey(known map[string]any) (from map[string]any, bare bool) {
	given, name := cmp.Or(s.flags["--api-key"], s.flags["--api-keys"]), s.server.Key
	if given != "" {
		name = variable(given)
	}
	e := s.container.env(name)
	switch {
	case known != nil:
		return known, false
	case e.ValueFrom["secretKeyRef"] != nil:
		return e.ValueFrom, false
	}
	return nil, given != "" || e.Value != "" || e.ValueFrom != nil
}
