// Package inject adds the prober's sidecar to Kubernetes manifests: manifests
// in, manifests out. A document that it does not change stays as it was, byte for
// byte; one that it changes is written anew as YAML, with its comments. It knows no cluster, opens no file but
// the one that is named, and never copies the value of a secret.
package inject

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/internal/config"
)

// Annotations of a pod, or of its template, that decide for it.
const (
	annotation = "prober.llm-prober.io/inject"    // "true" or "false", whatever the pod holds
	portOf     = "prober.llm-prober.io/port"      // where its model server listens
	serverOf   = "prober.llm-prober.io/container" // which container is its model server
	nameOf     = "prober.llm-prober.io/name"      // what the prober calls it; the workload's name and -engine if it is not there
)

// Options say what is injected, and where.
type Options struct {
	Image     string   // the sidecar's, with its tag or digest
	Port      int      // where all model servers listen; zero means as their manifests say
	Workloads []string // kind/name or name of the only workloads to change; empty means all with a model server
	Env       []Env    // more variables for the sidecar, which beat ours of the same name
	Key       Secret   // where the servers' API key is; zero means where their manifests take it from
	AllowNone bool     // a stream without any model server is not wrong

	// Check judges the variables that a sidecar will have, by name, and says how many
	// tokens its probes cost; one that comes from a Secret is [FromSecret]. Nil means
	// that all are right.
	Check func(env map[string]string) (tokensPerDay string, problems []config.Problem)
}

// FromSecret stands for the value of a variable that comes from a Secret.
const FromSecret = "from-a-secret"

// An Env is a variable of a container.
type Env struct{ Name, Value string }

// A Secret is one key of a Secret.
type Secret struct{ Name, Key string }

// Result is what became of a stream of manifests.
type Result struct {
	Manifests []byte
	Injected  []string // a sentence for each pod that has the sidecar now
	Warnings  []string // a sentence for each thing that a person should know
}

// Stream adds the sidecar to each pod of a stream of manifests that holds a
// model server: YAML documents, JSON objects, or Lists of them. A sidecar that
// is there is replaced in its place, so that a stream which went through Stream
// comes out of it unchanged. The error is [config.Problems], and then holds everything
// that is wrong; a stream without any model server is wrong, too, unless the
// options allow it.
func Stream(in []byte, o Options) (Result, error) {
	if !utf8.Valid(in) {
		return Result{}, config.Problems{{Place: "the manifests", Text: "are not UTF-8", Hint: "convert them first"}}
	}
	run := run{options: o, named: map[string]bool{}}
	var out bytes.Buffer
	for _, d := range split(in) {
		out.Write(d.marker)
		out.Write(run.document(d))
	}
	for _, name := range o.Workloads {
		if !run.named[name] {
			run.fault(fmt.Sprintf("workload %q", name), "is not among the manifests", "want kind/name or name of a workload with pods")
		}
	}
	if len(run.result.Injected) == 0 && run.problems == nil {
		run.none()
	}
	if run.problems != nil {
		return Result{Warnings: run.result.Warnings}, run.problems
	}
	run.result.Manifests = out.Bytes()
	return run.result, nil
}

// A run is one stream on its way through.
type run struct {
	options  Options
	result   Result
	problems config.Problems
	objects  int
	named    map[string]bool // which of options.Workloads were seen
}

// none says that there is no model server: as a problem, or as a warning where
// that may be.
func (r *run) none() {
	text := fmt.Sprintf("hold no model server that is known (objects read: %d)", r.objects)
	if r.options.AllowNone {
		r.warn("the manifests %s: nothing is added", text)
		return
	}
	r.fault("the manifests", text, fmt.Sprintf("give its pod template the annotation %s: \"true\"", annotation))
}

func (r *run) fault(place, text, hint string) {
	r.problems = append(r.problems, config.Problem{Place: place, Text: text, Hint: hint})
}

func (r *run) warn(format string, args ...any) {
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf(format, args...))
}

// document is the text of d with its sidecars.
func (r *run) document(d document) []byte {
	tree, err := parse(d.text)
	if err != nil {
		r.fault(fmt.Sprintf("document %d", d.number), "cannot be read: "+d.reason(err), "want YAML or JSON as kubectl takes it")
		return nil
	}
	if len(tree.Content) == 0 {
		return d.text
	}
	pods, objects := podsOf(tree.Content[0])
	r.objects += objects
	changed, faults := false, len(r.problems)
	for _, p := range pods {
		p.document = d
		changed = r.pod(p, tree) || changed
	}
	if !changed || len(r.problems) > faults {
		return d.text
	}
	text, err := encode(tree, d.text)
	if err != nil {
		r.fault(d.place(1), "is written in a way that the sidecar does not fit in: "+err.Error(),
			"pass it through kubectl kustomize first, which writes it plainly")
	}
	return text
}

// pod adds the sidecar to p, which is in tree, and reports whether that changed.
func (r *run) pod(p pod, tree *yaml.Node) (changed bool) {
	if !r.chosen(p) {
		return false
	}
	read, err := p.read()
	if err != nil {
		r.fault(p.String(), "cannot be read: "+p.document.reason(err), "want a pod as kubectl takes it")
		return false
	}
	s, ok := r.serving(p, read)
	if !ok || !r.free(p, read) {
		return false
	}
	car, err := newSidecar(p.target(read, s), s, r.options)
	if err != nil {
		r.fault("sidecar.yaml of this binary", err.Error(), "report it")
		return false
	}
	cost, sound := r.sound(car)
	if !sound {
		return false
	}
	changed, err = p.add(read, car, tree)
	if err != nil {
		r.fault(p.String(), err.Error(), "pass it through kubectl kustomize first, which writes it without them")
		return false
	}
	r.result.Injected = append(r.result.Injected, fmt.Sprintf("%s: prober beside container %s, port %d", p.name(), s.container.Name, s.port)+cost)
	r.warnings(p, read, s)
	return changed
}

// sound reports whether the prober takes the variables of its sidecar, and what
// they cost. What is wrong with several sidecars alike is said once.
func (r *run) sound(car sidecar) (cost string, ok bool) {
	if r.options.Check == nil {
		return "", true
	}
	env := map[string]string{}
	for _, e := range car.Env {
		env[e.Name] = e.Value
		if e.ValueFrom != nil {
			env[e.Name] = FromSecret
		}
	}
	tokens, problems := r.options.Check(env)
	for _, problem := range problems {
		if !slices.Contains(r.problems, problem) {
			r.problems = append(r.problems, problem)
		}
	}
	return ": " + tokens + " tokens per day and pod", len(problems) == 0
}

// chosen reports whether p is to be looked at, and notes that it was.
func (r *run) chosen(p pod) bool {
	chosen := len(r.options.Workloads) == 0
	for _, name := range r.options.Workloads {
		if strings.EqualFold(name, p.name()) || name == p.label {
			r.named[name] = true
			chosen = true
		}
	}
	if chosen && p.why != "" {
		r.warn("%s: left alone: %s", p.name(), p.why)
	}
	return chosen && p.why == ""
}

// free reports whether the sidecar has its name and its port for itself.
func (r *run) free(p pod, read podSpec) bool {
	for _, c := range read.Containers {
		if c.Name == sidecarName {
			r.warn("%s: left alone: it has a container called %s already", p.name(), sidecarName)
			return false
		}
	}
	for _, c := range slices.Concat(read.InitContainers, read.Containers) {
		if c.Name == sidecarName && !c.isProber() {
			r.fault(p.String(), fmt.Sprintf("has an init container called %s, which is not ours: its image is %q", sidecarName, c.Image), "call it something else")
			return false
		}
		for _, port := range c.Ports {
			if c.Name != sidecarName && port.ContainerPort == sidecarPort {
				r.fault(p.String(), fmt.Sprintf("container %s has port %d, which is the prober's", c.Name, sidecarPort),
					fmt.Sprintf("move it, or leave the pod out: %s: \"false\"", annotation))
				return false
			}
		}
	}
	return true
}

// warnings says what a person should know about a pod that has the sidecar now.
func (r *run) warnings(p pod, read podSpec, s serving) {
	if read.HostNetwork {
		r.warn("%s: has the network of its node: port %d must be free there, and only one such pod fits on a node", p.name(), sidecarPort)
	}
	if s.guessed {
		r.warn("%s: container %s calls none of its ports http: %s is asked at its default port %d; if it listens elsewhere, say so by --port or the annotation %s",
			p.name(), s.container.Name, s.server.name, s.port, portOf)
	}
	if s.tls {
		r.warn("%s: container %s serves HTTPS: its certificate is not verified on loopback", p.name(), s.container.Name)
	}
	if where := s.unreached(); where != "" {
		r.warn("%s: container %s listens on %s: the sidecar asks 127.0.0.1, and does not reach it", p.name(), s.container.Name, where)
	}
	if s.bareKey != "" && r.options.Key == (Secret{}) {
		r.warn("%s: container %s wants an API key that is %s, and it is not copied: probes will be refused; put it into a Secret and name that with --api-key-secret",
			p.name(), s.container.Name, s.bareKey)
	}
}
