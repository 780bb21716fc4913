package alerts

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// PrometheusRule is rules as a resource of the Prometheus operator (monitoring.coreos.com/v1), named prober:
// without comments, and with what the rule file says once and refers to written out. The error says that the rules are
// no YAML, which a test excludes.
func PrometheusRule(rules []byte) ([]byte, error) {
	var spec yaml.Node
	if err := yaml.Unmarshal(rules, &spec); err != nil {
		return nil, fmt.Errorf("read %s: %w", RulesFile, err)
	}
	resource := struct {
		APIVersion string            `yaml:"apiVersion"`
		Kind       string            `yaml:"kind"`
		Metadata   map[string]string `yaml:"metadata"`
		Spec       *yaml.Node        `yaml:"spec"`
	}{"monitoring.coreos.com/v1", "PrometheusRule", map[string]string{"name": "prober"}, plain(spec.Content[0])}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(resource); err != nil {
		return nil, fmt.Errorf("write PrometheusRule: %w", err)
	}
	return out.Bytes(), nil
}

// plain is a copy of n without comments, anchors and aliases.
func plain(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	bare := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value}
	for _, child := range n.Content {
		bare.Content = append(bare.Content, plain(child))
	}
	return bare
}
