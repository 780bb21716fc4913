package chart_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/test/program"
)

// proberAcceptsItsConfiguration hands the targets file and the environment of the
// prober's container to the real prober.
func proberAcceptsItsConfiguration(t *testing.T, all []object) {
	t.Helper()
	for _, o := range all {
		if spec, ok := pod(o); ok {
			accepts(t, environment(mappings(spec, "containers")[0]), files(t, all, spec))
		}
	}
}

// accepts holds that the prober takes an environment and files.
func accepts(t *testing.T, environ, files map[string]string) {
	t.Helper()
	if refusal := program.Refusal(t, environ, files); refusal != "" {
		t.Error(refusal)
	}
}

// environment is what a container's variables hold that have a value here. The pod
// is the second of its StatefulSet.
func environment(container map[string]any) map[string]string {
	given := map[string]string{}
	for _, variable := range mappings(container, "env") {
		name, _ := variable["name"].(string)
		if value, ok := variable["value"].(string); ok {
			given[name] = strings.ReplaceAll(value, "$(POD_NAME)", "prober-1")
		}
	}
	return given
}

// pair is a certificate and its key in PEM, which serves as either, and as an
// authority.
func pair(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(slices.Concat(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
}

// files are what the volumes of a pod hold, by path: that of our ConfigMap, and
// something for each file of others.
func files(t *testing.T, all []object, spec map[string]any) map[string]string {
	held := map[string]string{
		"/etc/prober/web/web-config.yaml":  "",
		"/etc/prober/web/web.yml":          "",
		"/etc/prober/targets/targets.yaml": "targets: [{url: http://elsewhere}]",
	}
	for _, o := range all {
		if text, ok := at(o, "data", "targets.yaml").(string); ok {
			held["/etc/prober/targets/targets.yaml"] = text
		}
	}
	for _, volume := range mappings(spec, "volumes") {
		for _, source := range mappings(volume, "projected", "sources") {
			for _, kind := range []string{"secret", "configMap"} {
				for _, item := range mappings(source, kind, "items") {
					path, content := item["path"].(string), "something\n"
					if strings.HasSuffix(path, ".crt") || strings.HasSuffix(path, ".key") {
						content = pair(t)
					}
					held["/etc/prober/credentials/"+path] = content
				}
			}
		}
	}
	return held
}
