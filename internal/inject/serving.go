package inject

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// A serving is what the sidecar asks.
type serving struct {
	container container
	server    server
	args      []string // after the words that start the server, flags as of [dashed]
	port      int      // 1 to 65535
	guessed   bool     // port is the default one, and the manifest names others
	tls       bool
	key       *valueFrom // where the server takes its API key from; nil if it has none or it is bare
	bareKey   string     // why a key cannot be taken over; empty if it can
}

// serving is what the sidecar of p asks; ok is false if there is nothing.
func (r *run) serving(p pod, read podSpec) (s serving, ok bool) {
	wanted := read.meta.Annotations[annotation]
	switch wanted {
	case "false":
		if len(r.options.Workloads) > 0 {
			r.warn("%s: left alone: its annotation %s says so", p.name(), annotation)
		}
		return s, false
	case "", "true":
	default:
		r.fault(p.String(), fmt.Sprintf("annotation %s is %q", annotation, wanted), `want "true" or "false"`)
		return s, false
	}
	s, why := modelServer(read)
	s.args = dashed(s.args)
	if s.container.Name == "" {
		switch {
		case wanted == "true":
			r.fault(p.String(), "wants the sidecar, but which of its containers is the model server is not known",
				"name it by the annotation "+serverOf)
		case len(r.options.Workloads) > 0:
			r.fault(p.String(), cmp.Or(why, "holds no model server that is known"), fmt.Sprintf("give its pod template the annotation %s: \"true\"", annotation))
		case why != "":
			r.warn("%s: left alone: %s; the annotation %s: \"true\" adds it all the same", p.name(), why, annotation)
		}
		return s, false
	}
	if why = halved(p, read, s); why != "" && wanted != "true" {
		r.warn("%s: left alone: %s; the annotation %s: \"true\" adds it all the same", p.name(), why, annotation)
		return s, false
	}
	text := ""
	if s.port, s.guessed, text = r.port(read, s); text != "" {
		r.fault(p.String(), "container "+s.container.Name+": "+text, fmt.Sprintf("say where it listens by the annotation %s", portOf))
		return s, false
	}
	if s.port == sidecarPort {
		r.fault(p.String(), fmt.Sprintf("container %s listens on port %d, which is the prober's", s.container.Name, sidecarPort),
			fmt.Sprintf("let it listen elsewhere, or leave the pod out: %s: \"false\"", annotation))
		return s, false
	}
	s.tls = slices.ContainsFunc(s.args, isTLS)
	s.key, s.bareKey = apiKey(s)
	return s, true
}

// modelServer is the container of a pod that is a model server. Its name is
// empty if there is none, and why then says what nearly was one.
func modelServer(read podSpec) (s serving, why string) {
	if name := read.meta.Annotations[serverOf]; name != "" {
		for _, c := range read.Containers {
			if c.Name == name {
				s.container = c
				s.server, s.args, _, _ = recognize(c)
			}
		}
		return s, ""
	}
	for _, c := range read.Containers {
		known, args, what, ok := recognize(c)
		switch {
		case ok:
			return serving{container: c, server: known, args: args}, ""
		case what != "":
			why = fmt.Sprintf("container %s has the image of %s, but its command starts no server that is known", c.Name, what)
		}
	}
	if read.meta.Annotations[annotation] == "true" && len(read.Containers) == 1 {
		s.container = read.Containers[0]
		s.args = slices.Concat(s.container.Command, s.container.Args)
	}
	return s, why
}

// halved says why a model server is not to be asked; empty if it is.
func halved(p pod, read podSpec, s serving) string {
	mode := read.meta.Annotations["serving.kserve.io/deploymentMode"]
	switch {
	case p.kind.name == "InferenceService" && mode != "Standard" && mode != "RawDeployment":
		return "Knative refuses sidecars with a restartPolicy, and serving.kserve.io/deploymentMode does not say Standard"
	case read.meta.Labels["llm-d.ai/role"] == "prefill":
		return "it only prefills (llm-d.ai/role)"
	case p.group && !eachServes(s.args):
		return "all its pods are alike, and only its leaders serve; give it a leaderTemplate"
	}
	return unasked(s.args)
}

// port is where a server listens: what the annotation says, the options, its container's port called http, its own
// arguments and variables, or what is usual for it. The text says what is wrong.
func (r *run) port(read podSpec, s serving) (port int, guessed bool, wrong string) {
	said, by := read.meta.Annotations[portOf], "annotation "+portOf
	if said == "" && r.options.Port > 0 {
		return r.options.Port, false, ""
	}
	if said == "" {
		if port := s.container.portCalled("http"); port > 0 {
			return port, false, ""
		}
		flags := s.server.flags
		if flags == nil {
			flags = []string{"--port"}
		}
		said, by = s.container.said(s.args, flags, s.server.env)
	}
	if said == "" {
		port, guessed = s.server.port, s.container.hasOtherPort(s.server.port)
		if port == 0 { // of a server that only the annotation names; serve is KubeRay's name of Ray Serve's port
			port, guessed = s.container.portCalled("serve"), false
		}
		if port == 0 {
			wrong = "its port is not known"
		}
		return port, guessed, wrong
	}
	if _, after, err := net.SplitHostPort(said); err == nil {
		said = after
	}
	port, err := strconv.Atoi(said)
	if err != nil || port < 1 || port > 65535 {
		return 0, false, fmt.Sprintf("%s is %q, which is no port", by, said)
	}
	return port, false, ""
}

// said is the value of a flag or of a variable that says where a server listens,
// and which of them; empty if neither is there.
func (c container) said(args, flags []string, env string) (v, by string) {
	v, ok := flagged(args, flags)
	if name, is := variable(v); ok && is {
		if e, there := c.env(name); there && e.ValueFrom == nil {
			return e.Value, name
		}
	}
	if ok {
		return v, flags[0]
	}
	if e, there := c.env(env); there && env != "" {
		return e.Value, env
	}
	return "", ""
}

// env is a variable of a container; the last of a name counts.
func (c container) env(name string) (e envVar, ok bool) {
	for _, one := range c.Env {
		if one.Name == name {
			e, ok = one, true
		}
	}
	return e, ok
}

// portCalled is the TCP port of a container with a name; 0 if there is none.
func (c container) portCalled(name string) int {
	for _, p := range c.Ports {
		if p.Name == name && (p.Protocol == "" || p.Protocol == "TCP") {
			return p.ContainerPort
		}
	}
	return 0
}

// hasOtherPort reports whether a container has TCP ports, other than those of metrics, and not the usual one.
func (c container) hasOtherPort(usual int) bool {
	others := false
	for _, p := range c.Ports {
		if p.ContainerPort == usual {
			return false
		}
		others = others || (p.Protocol == "" || p.Protocol == "TCP") && p.Name != "metrics" && p.Name != "http-metrics"
	}
	return others
}

// isTLS reports whether an argument makes a server speak HTTPS: the flags of
// vLLM and SGLang, llama.cpp, and LMDeploy.
func isTLS(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return slices.Contains([]string{"--ssl-keyfile", "--ssl-certfile", "--ssl-key-file", "--ssl-cert-file", "--ssl"}, name)
}

// unreached says where a server listens that 127.0.0.1 does not lead to; empty if
// it does, or if nothing is said.
func (s serving) unreached() string {
	if _, ok := flagged(s.args, []string{"--uds"}); ok {
		return "a Unix socket (--uds)"
	}
	host, _ := s.container.said(s.args, []string{"--host"}, "")
	if slices.Contains([]string{"", "0.0.0.0", "::", "[::]", "127.0.0.1", "localhost"}, host) {
		return ""
	}
	return host + " alone (--host)"
}

// apiKey is where a server takes its API key from. If it has one that is written
// out, or comes from where a reference cannot be taken over, bare says so.
func apiKey(s serving) (from *valueFrom, bare string) {
	name := s.server.key
	given, asked := flagged(s.args, []string{"--api-key", "--api-keys"})
	if asked {
		var ok bool
		if name, ok = variable(given); !ok {
			return nil, "written out in its arguments"
		}
	}
	e, ok := s.container.env(name)
	switch {
	case !ok && asked:
		return nil, "none of the variables that its manifest names"
	case !ok || name == "":
		return nil, ""
	case e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil:
		return &valueFrom{SecretKeyRef: e.ValueFrom.SecretKeyRef}, ""
	case e.ValueFrom != nil:
		return nil, "not from a Secret"
	case e.Value == "":
		return nil, ""
	}
	return nil, "written out in " + name
}
