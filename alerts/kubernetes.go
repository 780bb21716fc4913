package alerts

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// PrometheusRule is rules as a resource of the Prometheus operator (monitoring.coreos.com/v1), without comments and references.
// The error says that the rules are no YAML, which a test excludes.
func PrometheusRule(rules []byte) ([]byte, error) {
	var spec map[string]any
	if err := yaml.Unmarshal(rules, &spec); err != nil {
		return nil, fmt.Errorf("read %s: %w", RulesFile, err)
	}
	resource := map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": map[string]string{"name": "prober"}, "spec": spec,
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(resource); err != nil {
		return nil, fmt.Errorf("write PrometheusRule: %w", err)
	}
	return out.Bytes(), nil
}
