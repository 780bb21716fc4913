package test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// A prometheus is a running Prometheus with an empty database.
type prometheus struct {
	*process

	url string // its base URL, without a slash at the end
}

// startPrometheus starts Prometheus with a configuration, further files that it
// names by their relative paths, and further flags; returns when it is ready.
func startPrometheus(t *testing.T, config string, files map[string]string, flags ...string) prometheus {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	write(t, filepath.Join(dir, "prometheus.yml"), config)
	p := prometheus{url: "http://" + address, process: launch(t, "PROMETHEUS_BINARY", nil, append([]string{
		"--config.file", filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", address,
		"--enable-feature", "exemplar-storage",
	}, flags...)...)}
	eventually(t, "Prometheus to be ready", func() bool {
		select {
		case err := <-p.exited:
			t.Fatalf("Prometheus ended: %v", err)
		default:
		}
		return answers(t, p.url+"/-/ready")
	})
	return p
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil { //nolint:gosec // for another process
		t.Fatal(err)
	}
}

// api decodes the data of an answer of Prometheus' API into v. An error that the
// API tells fails the test.
func (p prometheus) api(t *testing.T, path string, parameters url.Values, v any) {
	t.Helper()
	body, _ := get(t, p.url+"/api/v1/"+path+"?"+parameters.Encode(), "application/json")
	reply := struct {
		Status, Error string
		Data          any
	}{Data: v}
	if err := json.Unmarshal([]byte(body), &reply); err != nil || reply.Status != "success" {
		t.Fatalf("%s %s: %s %v", path, parameters.Encode(), reply.Error, err)
	}
}

// query evaluates an expression now.
func (p prometheus) query(t *testing.T, expr string) model.Vector {
	t.Helper()
	var data struct{ Result model.Vector }
	p.api(t, "query", url.Values{"query": {expr}}, &data)
	return data.Result
}

// queryRange evaluates an expression over a range of time.
func (p prometheus) queryRange(t *testing.T, expr string, from, to time.Time, step time.Duration) model.Matrix {
	t.Helper()
	var data struct{ Result model.Matrix }
	p.api(t, "query_range", url.Values{
		"query": {expr}, "start": {from.Format(time.RFC3339Nano)}, "end": {to.Format(time.RFC3339Nano)}, "step": {step.String()},
	}, &data)
	return data.Result
}
