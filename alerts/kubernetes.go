package alerts

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// PrometheusRule is the rules as a resource of the Prometheus operator
// (monitoring.coreos.com/v1), named prober, without the comments. The error says
// that the rules are no YAML, which a test excludes.
func PrometheusRule() ([]byte, error) {
	var spec yaml.Node
	if err := yaml.Unmarshal(Rules(), &spec); err != nil {
		return nil, fmt.Errorf("read %s: %w", RulesFile, err)
	}
	uncomment(&spec)
	resource := struct {
		APIVersion string            `yaml:"apiVersion"`
		Kind       string            `yaml:"kind"`
		Metadata   map[string]string `yaml:"metadata"`
		Spec       *yaml.Node        `yaml:"spec"`
	}{"monitoring.coreos.com/v1", "PrometheusRule", map[string]string{"name": "prober"}, spec.Content[0]}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(resource); err != nil {
		return nil, fmt.Errorf("write PrometheusRule: %w", err)
	}
	return out.Bytes(), nil
}

// uncomment takes the comments from a node and all below it.
func uncomment(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, child := range n.Content {
		uncomment(child)
	}
}
