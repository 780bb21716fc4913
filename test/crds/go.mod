// The CRDs that the tests of the chart and of the pages install: YAML in modules of
// which no Go is compiled. Not for go mod tidy, which would find nothing used. Most
// are small; prometheus-engine is a download of 91 MB, for what else is in it.
module github.com/llm-prober/prober/test/crds

go 1.26.0

require (
	github.com/GoogleCloudPlatform/prometheus-engine v0.17.2
	github.com/argoproj/argo-rollouts v1.10.0
	github.com/fluxcd/flagger v1.36.1
	github.com/grafana/grafana-operator/v5 v5.18.0
	github.com/prometheus-operator/prometheus-operator v0.94.0
	sigs.k8s.io/gateway-api v1.4.0
)
