// Package inject adds the prober's sidecar to Kubernetes manifests. A document that it does not change stays as it was, byte for
// byte; one that it changes is written anew as YAML, with its comments. It never copies the value of a secret.
package inject

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/usage"
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
	Port      uint16   // where all model servers listen; zero means as their manifests say
	Workloads []string // kind/name or name of the only workloads to change; empty means all with a model server
	Env       []Env    // more variables for the sidecar, which beat ours of the same name
	AllowNone bool     // a stream without any model server is not wrong

	Key          map[string]any              // valueFrom of a Secret with the servers' API key; nil: as their manifests say
	TokensPerDay func(*config.Config) string // what the probes of a sidecar cost; nil: variables are not judged either
}

// Result is what became of a stream of manifests.
type Result struct {
	Manifests []byte
	Injected  []string // a sentence for each pod that has the sidecar now
	Warnings  []string // a sentence for each thing that a person should know
}

// Stream adds the sidecar to each pod of a stream of manifests that holds a model server: YAML documents, JSON objects, or Lists of
// them. A sidecar that is there is replaced, so that a second run changes nothing. The error is [usage.Problems], all of it; a
// stream without any model server is wrong, too, unless the options allow it.
func Stream(in []byte, o Options) (Result, error) {
	if !utf8.Valid(in) {
		return Result{}, usage.Problems{{Place: "the manifests", Text: "are not UTF-8", Hint: "convert them first"}}
	}
	run := run{options: o, missing: slices.Clone(o.Workloads)}
	for _, e := range o.Env {
		if strings.HasPrefix(e.Name, "PROBER_") && strings.HasSuffix(e.Name, "_FILE") && e.Value != "" {
			run.warn("--env=%s: the file must be in the image: the sidecar mounts none", e.Name)
		}
	}
	var out bytes.Buffer
	for _, d := range split(in) {
		out.Write(d.marker)
		out.Write(run.document(d))
	}
	for _, name := range run.missing {
		place := fmt.Sprintf("workload %q", name)
		run.refuse(usage.Problem{Place: place, Text: "is not among the manifests", Hint: "want kind/name or name of a workload with pods"})
	}
	none := fmt.Sprintf("hold no model server that is known (objects read: %d)", run.objects)
	switch {
	case len(run.result.Injected) > 0 || run.problems != nil:
	case o.AllowNone:
		run.warn("the manifests %s: nothing is added", none)
	default:
		run.refuse(usage.Problem{Place: "the manifests", Text: none, Hint: fmt.Sprintf("give its pod template the annotation %s: \"true\"", annotation)})
	}
	if run.problems != nil {
		return Result{Warnings: run.result.Warnings}, run.problems
	}
	run.result.Manifests = out.Bytes()
	return run.result, nil
}

type run struct {
	options  Options
	result   Result
	problems usage.Problems
	objects  int
	missing  []string // those of options.Workloads that were not seen yet
}

// refuse notes what is wrong; with several sidecars alike, once.
func (r *run) refuse(problems ...usage.Problem) {
	for _, problem := range problems {
		if !slices.Contains(r.problems, problem) {
			r.problems = append(r.problems, problem)
		}
	}
}

func (r *run) warn(format string, args ...any) {
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf(format, args...))
}

func (r *run) document(d document) []byte {
	place := fmt.Sprintf("the document from line %d on", d.line)
	tree, err := parse(d.text)
	switch {
	case err != nil:
		r.refuse(usage.Problem{Place: place, Text: "cannot be read: " + d.reason(err), Hint: "want YAML or JSON as kubectl takes it"})
		return d.text
	case len(tree.Content) == 0:
		return d.text
	}
	changed := false
	for _, p := range slices.DeleteFunc(r.pods(tree.Content[0]), r.unnamed) {
		p.document = d
		added, err := r.add(p, tree)
		changed = changed || added
		if problems, ok := errors.AsType[usage.Problems](err); ok {
			r.refuse(problems...)
		} else if err != nil {
			r.warn("%s: left alone: %v", p.name(), err)
		}
	}
	if !changed {
		return d.text
	}
	text, err := encode(tree)
	if err != nil {
		r.refuse(usage.Problem{Place: place, Text: "is written in a way that the sidecar does not fit in: " + err.Error(), Hint: plainly})
	}
	return text
}

// plainly is the hint for manifests whose YAML is too clever.
const plainly = "pass it through kubectl kustomize first, which writes it plainly"

// unnamed reports whether p is not among the workloads to be changed, and notes those that are.
func (r *run) unnamed(p pod) bool {
	is := func(name string) bool { return strings.EqualFold(name, p.name()) || name == p.label }
	r.missing = slices.DeleteFunc(r.missing, is)
	return len(r.options.Workloads) > 0 && !slices.ContainsFunc(r.options.Workloads, is)
}

// add puts the sidecar into p, which is in tree. The error is [usage.Problems], or says why p is left alone.
func (r *run) add(p pod, tree *yaml.Node) (changed bool, err error) {
	var whole any // it has no key that is written twice
	if err := errors.Join(p.object.Decode(&whole), p.spec.Decode(&p.podSpec), p.about.Decode(&p.meta)); err != nil {
		return false, p.problem("cannot be read: "+p.document.reason(err), "want a pod as kubectl takes it")
	}
	s, err := r.serving(p)
	if err != nil || s.container.Name == "" {
		return false, err
	}
	if err := p.free(); err != nil {
		return false, err
	}
	car := newSidecar(p, s, r.options)
	done := fmt.Sprintf("%s: prober beside container %s, port %d", p.name(), s.container.Name, s.port)
	if r.options.TokensPerDay != nil {
		c, problems := configuration(car.Env)
		if len(problems) > 0 {
			return false, problems
		}
		done += ": " + r.options.TokensPerDay(c) + " tokens per day and pod"
	}
	if changed, err = p.add(car, tree); err == nil {
		r.result.Injected = append(r.result.Injected, done)
		r.warnings(p, s)
	}
	return changed, err
}

func (p pod) free() error {
	for i, c := range slices.Concat(p.Containers, p.InitContainers) {
		named := c.Name == sidecarName
		switch {
		case named && (i < len(p.Containers) || c.env("PROBER_TARGETS_0_URL").Name == ""): // none of ours
			return fmt.Errorf("it has a container called %s already, with the image %q", sidecarName, c.Image)
		case !named && c.port("containerPort", strconv.Itoa(sidecarPort)) != "":
			return p.problem(fmt.Sprintf("container %s has port %d, which is the prober's", c.Name, sidecarPort),
				fmt.Sprintf("move it, or leave the pod out: %s: \"false\"", annotation))
		}
	}
	return nil
}

func (r *run) warnings(p pod, s serving) {
	place := p.name() + ": container " + s.container.Name
	if s.guessed {
		r.warn("%s calls none of its ports http: %s is asked at its default port %d; "+
			"if it listens elsewhere, say so by --port or the annotation %s", place, s.server.Name, s.port, portOf)
	}
	if s.tls {
		r.warn("%s serves HTTPS: its certificate is not verified on loopback", place)
	}
	if _, bare := s.apiKey(r.options.Key); bare {
		r.warn("%s wants an API key that is not from a Secret, and it is not copied: probes will be refused; "+
			"put it into a Secret and name that with --api-key-secret", place)
	}
}

// ReleaseImage is the image of a release, or the latest one for a binary that is not a release.
func ReleaseImage(version string) string {
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(version) {
		version = "latest"
	}
	return "ghcr.io/llm-prober/prober:" + strings.TrimPrefix(version, "v")
}

// Parse completes o by variables as KEY=VALUE, and the key of a Secret as NAME/KEY or empty. It returns all that is wrong with o.
func (o *Options) Parse(env []string, key string) (problems usage.Problems) {
	if o.Image == "" {
		problems.Add(`--image=""`, "no image", "give one, or leave --image out")
	}
	for _, pair := range env {
		name, value, ok := strings.Cut(pair, "=")
		o.Env = append(o.Env, Env{Name: name, Value: value})
		switch place := "--env=" + name; {
		case !ok || !variableName.MatchString(name):
			problems.Add(fmt.Sprintf("--env=%q", name), "no variable", "want KEY=VALUE")
		case strings.HasSuffix(name, "_API_KEY"), strings.HasSuffix(name, "_HEADERS"):
			problems.Add(place, "a manifest is no place for keys", "want --api-key-secret NAME/KEY, or a patch with a secretKeyRef")
		case name == "PROBER_LISTEN_ADDRESS":
			problems.Add(place, "a sidecar serves on port 9464 of its pod, where its preStop hook and Prometheus look for it", "leave it out")
		}
	}
	if parts := strings.Split(key, "/"); len(parts) == 2 && parts[0] != "" && parts[1] != "" {
		// A Secret that is not there would keep the pod from starting: refused probes say so as well.
		o.Key = map[string]any{"secretKeyRef": map[string]any{"name": parts[0], "key": parts[1], "optional": true}}
	} else if key != "" {
		problems.Add(fmt.Sprintf("--api-key-secret=%q", key), "not a key of a Secret", "want NAME/KEY")
	}
	return problems
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// configuration is that of a sidecar with some variables, or what the prober would refuse of them, or does not know: a sidecar
// that ends at its start takes the model server with it. Files are not read.
func configuration(env []Env) (*config.Config, usage.Problems) {
	environ := map[string]string{}
	for _, e := range env {
		if environ[e.Name] = e.Value; e.ValueFrom != nil {
			environ[e.Name] = "from-a-secret"
		}
	}
	c, err := config.Load(config.Options{Environ: environ, ReadFile: func(string) ([]byte, error) { return []byte("{}"), nil }})
	problems, refused := errors.AsType[usage.Problems](err)
	for i := 0; !refused && i < len(c.Unknown); i++ {
		problems.Add("--env="+c.Unknown[i], "unknown variable", "see docs/configuration.md")
	}
	return c, problems
}

// ReadManifests reads a file, at most 64 MiB of it, or stdin for -. problems is nil if it could.
func ReadManifests(file string, stdin io.Reader) (manifests []byte, problems usage.Problems) {
	var err error
	if file != "-" {
		manifests, err = config.ReadFile(file)
	} else {
		manifests, err = config.ReadAll(stdin)
	}
	if err != nil {
		place := fmt.Sprintf("--filename=%q", file)
		return nil, usage.Problems{{Place: place, Text: "cannot be read: " + err.Error(), Hint: "give a file, or - for standard input"}}
	}
	return manifests, nil
}
