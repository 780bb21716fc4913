package inject

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/internal/config"
)

// leaders is the way to the pods of a LeaderWorkerSet that serve, if it has such.
const leaders = "spec leaderWorkerTemplate leaderTemplate"

// kinds are the kinds of workloads that hold model servers, with the way to what holds the spec and the metadata of their
// pods. Jobs and CronJobs
// are not among them: their pods are there to end, and one that accepts no requests need not be probed. Knative's
// Services are not either: Knative refuses an init container with a restartPolicy.
var kinds = map[string]string{
	"Pod":                   "",
	"ReplicationController": "spec template",
	"apps/Deployment":       "spec template",
	"apps/StatefulSet":      "spec template",
	"apps/DaemonSet":        "spec template",
	"apps/ReplicaSet":       "spec template",
	"argoproj.io/Rollout":   "spec template",
	"leaderworkerset.x-k8s.io/LeaderWorkerSet": leaders,
	// Serve's proxy runs on the head. It is a router, and a RayCluster may serve anything: the head's annotation or its
	// command must say that it is wanted.
	"ray.io/RayCluster": "spec headGroupSpec template",
	"ray.io/RayService": "spec rayClusterConfig headGroupSpec template",
	// Its predictor is the spec, in which the containers stand or come from a ServingRuntime that is not there.
	"serving.kserve.io/InferenceService": "",
	// It is never changed.
	"serving.kserve.io/LLMInferenceService": "",
}

// A pod is one that a workload makes, as it is written.
type pod struct {
	document document   // that it is in
	label    string     // the workload's name, or what its name is generated from; may be empty
	object   *yaml.Node // the workload
	spec     *yaml.Node // a mapping
	about    *yaml.Node // its metadata; may be empty
	group    bool       // several such pods serve together, and the first one answers

	podSpec // what is read of it, with the metadata
	meta    struct{ Labels, Annotations map[string]string }
}

// What is read of a pod: no more than what decides.
type (
	podSpec struct {
		InitContainers []container `yaml:"initContainers"`
		Containers     []container
	}
	container struct {
		Name, Image   string
		Command, Args []string
		Env           []Env
		Ports         []map[string]string
	}
)

// name is kind/name of the workload.
func (p pod) name() string { return text(p.object, "kind") + "/" + cmp.Or(p.label, "?") }

// problem is what is wrong with p.
func (p pod) problem(text, hint string) error {
	line := p.document.line + p.object.Line - 1
	return config.Problems{{Place: fmt.Sprintf("line %d: %s", line, p.name()), Text: text, Hint: hint}}
}

// pods are the pods of an object or of a List of them.
func (r *run) pods(object *yaml.Node) (pods []pod) {
	kind, items := text(object, "kind"), at(object, "items")
	if strings.HasSuffix(kind, "List") && !items.IsZero() {
		for i := 0; object.Kind != yaml.AliasNode && i < len(items.Content); i++ { // an alias may hold itself
			pods = append(pods, r.pods(items.Content[i])...)
		}
		return pods
	}
	r.objects++
	way, ok := kinds[path.Join(path.Dir(text(object, "apiVersion")), kind)]
	p := pod{object: object, label: strings.TrimSuffix(text(object, "metadata", "generateName"), "-")}
	p.label = cmp.Or(text(object, "metadata", "name"), p.label)
	template := at(object, strings.Fields(way)...)
	if way == leaders && at(template, "spec").IsZero() {
		template = at(object, "spec", "leaderWorkerTemplate", "workerTemplate")
		p.group = cmp.Or(text(object, "spec", "leaderWorkerTemplate", "size"), "1") != "1"
	}
	p.about, p.spec = at(template, "metadata"), at(template, "spec")
	if kind == "InferenceService" {
		p.spec = at(p.spec, "predictor")
	}
	if !ok || p.spec.Kind != yaml.MappingNode && p.spec.Kind != yaml.AliasNode {
		return nil
	}
	return []pod{p}
}

// add puts the sidecar into p, which is in tree: in the place of the one that is there, or as the last of the init
// containers. A sidecar that is as it should be is left as it is written.
func (p pod) add(car sidecar, tree *yaml.Node) (changed bool, err error) {
	if shared(tree) {
		return false, p.problem("its document has aliases or merge keys, and what stands elsewhere too could change with it", plainly)
	}
	var node yaml.Node
	if err := node.Encode(car); err != nil {
		return false, err
	}
	list := at(p.spec, "initContainers")
	if list.IsZero() {
		p.spec.Content = slices.Insert(p.spec.Content, 0, &yaml.Node{Kind: yaml.ScalarNode, Value: "initContainers"}, list)
	}
	if len(list.Content) == 0 { // new, [] or null, whose comment has no place behind a list
		node.HeadComment, list.LineComment = list.LineComment, ""
		list.Kind, list.Tag, list.Value, list.Style = yaml.SequenceNode, "", "", 0
	}
	i := slices.IndexFunc(list.Content, func(item *yaml.Node) bool { return text(item, "name") == sidecarName })
	if i < 0 {
		list.Content = append(list.Content, &node)
		return true, nil
	}
	item := list.Content[i]
	node.HeadComment, node.LineComment, node.FootComment = item.HeadComment, item.LineComment, item.FootComment
	list.Content[i] = &node
	return !same(item, &node), nil
}
