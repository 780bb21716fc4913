package inject

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A kind of workload is where its pods are written.
type kind struct {
	group, name string
	spec, meta  []string // the way to the pod's spec, and to what holds its labels and annotations
	unless      []string // the way to what, if it is there, holds the pods instead
	size        []string // the way to how many such pods serve together, where only the first one answers; nil if each does
	why         string   // why it is left alone; empty if it is not
}

// template is a kind whose pods are written in a pod template.
func template(group, name string, way ...string) kind {
	return kind{group: group, name: name, spec: append(slices.Clip(way), "spec"), meta: append(slices.Clip(way), "metadata")}
}

// kinds are the kinds of workloads that hold model servers. Jobs and CronJobs
// are not among them: their pods are there to end, and one that accepts no requests
// need not be probed. Knative's Services are not either: Knative refuses an init
// container with a restartPolicy.
var kinds = []kind{
	{group: "", name: "Pod", spec: []string{"spec"}, meta: []string{"metadata"}},
	template("apps", "Deployment", "spec", "template"),
	template("apps", "StatefulSet", "spec", "template"),
	template("apps", "DaemonSet", "spec", "template"),
	template("apps", "ReplicaSet", "spec", "template"),
	template("", "ReplicationController", "spec", "template"),
	template("argoproj.io", "Rollout", "spec", "template"),
	// Only the leader of a group serves.
	template("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "spec", "leaderWorkerTemplate", "leaderTemplate"),
	{
		group: "leaderworkerset.x-k8s.io", name: "LeaderWorkerSet", unless: []string{"spec", "leaderWorkerTemplate", "leaderTemplate"},
		spec: []string{"spec", "leaderWorkerTemplate", "workerTemplate", "spec"}, meta: []string{"spec", "leaderWorkerTemplate", "workerTemplate", "metadata"},
		size: []string{"spec", "leaderWorkerTemplate", "size"},
	},
	// Serve's proxy runs on the head. It is a router, and a RayCluster may serve
	// anything: the head's annotation or its command must say that it is wanted.
	template("ray.io", "RayCluster", "spec", "headGroupSpec", "template"),
	template("ray.io", "RayService", "spec", "rayClusterConfig", "headGroupSpec", "template"),
	// A predictor is a pod spec, in which the containers stand or come from a
	// ServingRuntime that is not there.
	{group: "serving.kserve.io", name: "InferenceService", spec: []string{"spec", "predictor"}, meta: []string{"metadata"}},
	{
		group: "serving.kserve.io", name: "LLMInferenceService", spec: []string{"spec", "template"}, meta: []string{"metadata"},
		why: "its port and its TLS come from the platform's LLMInferenceServiceConfig, which is merged with it in the cluster; put the sidecar there",
	},
}

// A pod is one that a workload makes, as it is written.
type pod struct {
	kind
	label  string     // the workload's name, or what its name is generated from; may be empty
	object *yaml.Node // the workload
	spec   *yaml.Node // a mapping
	meta   *yaml.Node // a mapping, or nil
	group  bool       // several such pods serve together, and the first one answers

	document document // that it is in
}

// name is kind/name of the workload.
func (p pod) name() string { return p.kind.name + "/" + cmp.Or(p.label, "?") }

// String is where the workload is, and its name.
func (p pod) String() string { return p.document.place(p.object.Line) + ": " + p.name() }

// podsOf are the pods of an object or of a List of them, and how many objects
// these are.
func podsOf(object *yaml.Node) (pods []pod, objects int) {
	if n := followed(object); n == nil || n.Kind != yaml.MappingNode {
		return nil, 0
	}
	if items, ok := value(object, "items"); ok && strings.HasSuffix(text(object, "kind"), "List") {
		if object.Kind == yaml.AliasNode || items.Kind == yaml.AliasNode {
			return nil, 0 // it may hold itself, or so many of others that no machine reads them all
		}
		for _, item := range followed(items).Content {
			found, n := podsOf(item)
			pods, objects = append(pods, found...), objects+n
		}
		return pods, objects
	}
	group, _, ok := strings.Cut(text(object, "apiVersion"), "/")
	if !ok {
		group = ""
	}
	for _, k := range kinds {
		if k.group != group || k.name != text(object, "kind") {
			continue
		}
		if p, ok := podOf(object, k); ok {
			pods = append(pods, p)
		}
	}
	return pods, 1
}

// podOf is the pod of an object of kind k; ok is false if it has none.
func podOf(object *yaml.Node, k kind) (p pod, ok bool) {
	if _, instead := at(object, k.unless); instead && k.unless != nil {
		return p, false
	}
	metadata, _ := value(object, "metadata")
	p = pod{kind: k, label: cmp.Or(text(metadata, "name"), strings.TrimSuffix(text(metadata, "generateName"), "-")), object: object}
	p.meta, _ = at(object, k.meta)
	if size, ok := at(object, k.size); ok && k.size != nil {
		p.group = followed(size).Value != "1" // as it is if nothing is said
	}
	p.spec, ok = at(object, k.spec)
	return p, ok && followed(p.spec).Kind == yaml.MappingNode
}

// at is what is at the end of a way of keys.
func at(n *yaml.Node, way []string) (v *yaml.Node, ok bool) {
	v, ok = n, true
	for _, key := range way {
		if v, ok = value(v, key); !ok {
			return nil, false
		}
	}
	return v, ok
}

// value is the value of a key of a mapping, which may be an alias; nodes that
// are nil or no mapping have none.
func value(n *yaml.Node, key string) (v *yaml.Node, ok bool) {
	n = followed(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1], true
		}
	}
	return nil, false
}

// text is the value of a key that is a scalar, or empty.
func text(n *yaml.Node, key string) string {
	v, _ := value(n, key)
	if v = followed(v); v == nil || v.Kind != yaml.ScalarNode || v.ShortTag() == "!!null" {
		return ""
	}
	return v.Value
}

// followed is what an alias stands for, or the node itself.
func followed(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// What is read of a pod: no more than what decides.
type (
	podSpec struct {
		InitContainers []container `yaml:"initContainers"`
		Containers     []container `yaml:"containers"`
		HostNetwork    bool        `yaml:"hostNetwork"`
		meta           podMeta
	}
	podMeta struct {
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	}
	container struct {
		Name    string   `yaml:"name"`
		Image   string   `yaml:"image"`
		Command []string `yaml:"command"`
		Args    []string `yaml:"args"`
		Env     []envVar `yaml:"env"`
		Ports   []struct {
			Name          string `yaml:"name"`
			ContainerPort int    `yaml:"containerPort"`
			Protocol      string `yaml:"protocol"`
		} `yaml:"ports"`
	}
)

// read is the pod's spec and metadata. A key that is written twice anywhere in the
// workload is an error.
func (p pod) read() (podSpec, error) {
	var s podSpec
	var whole any
	if err := p.object.Decode(&whole); err != nil {
		return s, err
	}
	if err := p.spec.Decode(&s); err != nil {
		return s, err
	}
	if p.meta != nil {
		if err := p.meta.Decode(&s.meta); err != nil {
			return s, fmt.Errorf("metadata: %w", err)
		}
	}
	return s, nil
}

// vantage ends the names of what sidecars ask. A prober outside calls the service
// by the workload's own name, and alerts take all of one name together: sidecars,
// which see loopback alone, would keep them silent while the service is down.
const vantage = "-engine"

// target is the name that the prober gives to what it asks: the annotation's, or
// the workload's and the vantage, so that series and baselines survive the pods.
// It has at most 100 characters.
func (p pod) target(read podSpec, s serving) string {
	if name := read.meta.Annotations[nameOf]; name != "" {
		return firstRunes(name, 100)
	}
	return firstRunes(cmp.Or(p.label, s.container.Name), 100-len(vantage)) + vantage
}

// firstRunes is the first n characters of text.
func firstRunes(text string, n int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), n)])
}
