package chart_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"path"
	"regexp"
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
		spec, ok := pod(o)
		if ok {
			container := mappings(spec, "containers")[0]
			accepts(t, environment(container), files(t, all, container))
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

// file matches a file of a Secret or ConfigMap in a targets file.
var file = regexp.MustCompile(`/etc/prober/(?:secrets|configmaps)/[^/\s]+/[^/\s]+`)

// files are what the mounts of a container hold, by path: the targets file of our ConfigMap, or some targets
// file, and something for each file that it names, which must be in a folder that is mounted.
func files(t *testing.T, all []object, container map[string]any) map[string]string {
	t.Helper()
	targets := "targets: [{url: http://elsewhere}]"
	for _, o := range all {
		if text, ok := at(o, "data", "targets.yaml").(string); ok {
			targets = text
		}
	}
	held := map[string]string{
		"/etc/prober/web/web-config.yaml":  "basic_auth_users: {somebody: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}",
		"/etc/prober/targets/targets.yaml": targets,
	}
	for _, name := range file.FindAllString(targets, -1) {
		mounted := slices.ContainsFunc(mappings(container, "volumeMounts"), func(mount map[string]any) bool {
			return mount["mountPath"] == path.Dir(name)
		})
		if !mounted {
			t.Errorf("%s is not mounted", name)
		}
		switch path.Ext(name) {
		case ".crt", ".key":
			held[name] = pair(t)
		case ".jsonl":
			held[name] = `{"prompt": "What is the meaning of life?"}`
		default:
			held[name] = "something\n"
		}
	}
	return held
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
