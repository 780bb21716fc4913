package inject

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestServers checks which containers are model servers, their server types, and where they listen.
func TestServers(t *testing.T) {
	for _, c := range []struct {
		container string // as a flow mapping
		want      string // kind and URL, or why not; empty: no server at all
	}{
		{`image: vllm/vllm-openai`, "vLLM http://127.0.0.1:8000"},
		{`image: "registry.example.com:5000/team/vllm-openai:v0.11@sha256:00"`, "vLLM http://127.0.0.1:8000"},
		{`image: x, command: [/opt/venv/bin/vllm, serve, m, --port=1234]`, "vLLM http://127.0.0.1:1234"},
		{`image: x, command: [python3, -m, vllm.entrypoints.openai.api_server], args: [--port, "8100"]`, "vLLM http://127.0.0.1:8100"},
		{`image: x, command: [bash, -ec, "exec vllm serve m \\\n  --served-model-name 'a b --port 1' \\\n --port 9 # --port 7\n"]`, "vLLM http://127.0.0.1:9"},
		{`image: x, command: [sh, -c], args: ["vllm serve m & other --port 7"]`, "vLLM http://127.0.0.1:8000"},
		{`image: x, command: [sh, -c, 'vllm serve m --tensor-parallel-size $(nvidia-smi -L | wc -l) --max-model-len $((4 * 1024)) --port 9']`, "vLLM http://127.0.0.1:9"},
		{"image: x, command: [sh, -c, 'vllm serve \"${MODEL:-a b}\" -tp `nproc --all` --port=9']", "vLLM http://127.0.0.1:9"},
		{`image: vllm, ports: [{containerPort: 5557}, {containerPort: 8080, name: http1}, {containerPort: 9400, name: http-metrics}]`, "vLLM http://127.0.0.1:8000"},
		{`image: "vllm:5000/vllm-openai/router:v1"`, ""},
		{`image: vllm, ports: [{containerPort: 9400, name: http-prometheus}, {containerPort: 8080, name: http}]`, "vLLM http://127.0.0.1:8080"},
		{`image: vllm, args: [--port=8081], ports: [{containerPort: 8080, name: http}]`, "vLLM http://127.0.0.1:8080"},
		{`image: vllm, env: [{name: VLLM_PORT, value: "1"}]`, "vLLM http://127.0.0.1:8000"},
		{`image: vllm, args: [--port, $(P)], env: [{name: P, value: "81"}, {name: P, value: "82"}]`, "vLLM http://127.0.0.1:82"},
		{`image: vllm, args: [--ssl-keyfile=a]`, "vLLM https://127.0.0.1:8000"},
		{`image: vllm, args: [--ssl_keyfile=a_b, --served_model_name, a_b]`, "vLLM https://127.0.0.1:8000"},
		{`image: kserve/huggingfaceserver:v1, args: [--http_port=8081]`, "KServe's Hugging Face server http://127.0.0.1:8081/openai"},
		{`image: sglang, args: [--is_embedding]`, "its model answers no questions (--is-embedding)"},
		{`image: lmsysorg/sglang, command: [python3, -m, sglang.launch_server]`, "SGLang http://127.0.0.1:30000"},
		{`image: lmsysorg/sglang, command: [python3, -m, sglang_router.launch_router]`, "container c has the image of SGLang, but its command starts no server that is known"},
		{`image: text-generation-inference, env: [{name: PORT, value: "8080"}]`, "TGI http://127.0.0.1:8080"},
		{`image: eu.gcr.io/dl/huggingface-text-generation-inference-cu124.2-4.ubuntu2204.py311, args: [--num-shard=2]`, "TGI http://127.0.0.1:80"},
		{`image: text-generation-inference, args: [-p, "3000"]`, "TGI http://127.0.0.1:3000"},
		{`image: x, command: [trtllm-serve, m]`, "TensorRT-LLM http://127.0.0.1:8000"},
		{`image: x, command: [trtllm-serve, disaggregated, -c, c.yaml]`, ""},
		{`image: x, args: [tritonserver, --http-port, "8010"]`, "Triton http://127.0.0.1:8010"},
		{`image: ghcr.io/ggml-org/llama.cpp:server-cuda`, "llama.cpp http://127.0.0.1:8080"},
		{`image: ghcr.io/ggml-org/llama.cpp:server, args: [--embedding]`, "its model answers no questions (--embedding)"},
		{`image: ollama/ollama, env: [{name: OLLAMA_HOST, value: "0.0.0.0:8888"}]`, "Ollama http://127.0.0.1:8888"},
		{`image: openmmlab/lmdeploy, command: [lmdeploy, serve, api_server, m, --server-port, "8000"]`, "LMDeploy http://127.0.0.1:8000"},
		{`image: ghcr.io/llm-d/llm-d-inference-sim:v0.6`, "vLLM http://127.0.0.1:8000"},
		{`image: vllm, args: [m, --headless]`, "it accepts no requests (--headless)"},
		{`image: vllm, args: [--task=embed]`, "its model answers no questions (--task)"},
		{`image: vllm, args: [--kv-transfer-config, '{"kv_role": "kv_producer"}']`, "it only prefills (--kv-transfer-config)"},
		{`image: x, command: [sglang, serve, --disaggregation-mode, decode]`, "it is half of a disaggregated server (--disaggregation-mode)"},
		{`image: vllm, command: [vllm, bench, serve]`, "container c has the image of vLLM, but its command starts no server that is known"},
		{`image: x, command: [tini, --, vllm, serve, m]`, "vLLM http://127.0.0.1:8000"},
		{`image: x, command: [watch, --process, tritonserver]`, ""},
		{`image: ghcr.io/llm-d/llm-d-cuda, args: [ray, start, --block]`, "container c has the image of vLLM, but its command starts no server that is known"},
		{`image: ghcr.io/huggingface/text-embeddings-inference`, ""},
		{`image: null`, ""},
	} {
		if is := asked(t, c.container); is != c.want {
			t.Errorf("{%s}: %q, want %q", c.container, is, c.want)
		}
	}
}

// asked is what the sidecar asks of a container called c.
func asked(t *testing.T, written string) string {
	t.Helper()
	p := pod{object: &yaml.Node{}, podSpec: podSpec{Containers: make([]container, 1)}}
	if err := yaml.Unmarshal([]byte("{name: c, "+written+"}"), &p.Containers[0]); err != nil {
		t.Fatal(err)
	}
	s, err := (&run{}).serving(p)
	switch {
	case err != nil:
		text, _, _ := strings.Cut(err.Error(), "; the annotation")
		return text
	case s.container.Name == "":
		return ""
	}
	return s.server.Name + " " + newSidecar(p, s, Options{}).Env[0].Value
}

// TestWarnings holds what is said of a container that got a sidecar: of a key that is written out, which is never
// copied, and of a port that may be another one.
func TestWarnings(t *testing.T) {
	const (
		from    = `valueFrom: {secretKeyRef: {name: s, key: k}}`
		taken   = "- name: PROBER_API_KEY\n      valueFrom:\n        secretKeyRef:\n          key: k\n          name: s\n"
		guessed = "container c calls none of its ports http: vLLM is asked at its default port 8000; if it listens elsewhere, " +
			"say so by --port or the annotation prober.llm-prober.io/port"
		bare = "not from a Secret"
	)
	for _, c := range []struct{ container, want string }{
		{`image: vllm, env: [{name: VLLM_API_KEY, ` + from + `}]`, taken},
		{`image: vllm, args: [--api_key, $(KEY)], env: [{name: KEY, ` + from + `}]`, taken},
		{`image: x, command: [sh, -c, 'vllm serve m --api-key="${KEY}"'], env: [{name: KEY, ` + from + `}]`, taken},
		{`image: x, command: [llama-server], env: [{name: LLAMA_API_KEY, ` + from + `}]`, taken},
		{`image: vllm, env: [{name: VLLM_API_KEY, value: sk-sesame}]`, bare},
		{`image: vllm, args: [--api-key=sk-sesame]`, bare},
		{`image: vllm, env: [{name: VLLM_API_KEY, valueFrom: {configMapKeyRef: {name: c, key: k}}}]`, bare},
		{`image: vllm, env: [{name: VLLM_API_KEY, value: ""}]`, ""},
		{`image: vllm, args: [--api-key, $(KEY)], envFrom: [{secretRef: {name: s}}]`, bare},
		{`image: x, command: [sh, -c, 'vllm serve m --api-key "$(cat /run/key)"']`, bare},
		{`image: vllm, ports: [{containerPort: 8000, name: api}, {containerPort: 5557, name: zmq}]`, ""},
		{`image: vllm, ports: [{containerPort: 8080, name: api}]`, guessed},
		{`image: vllm, args: [--port=8000], ports: [{containerPort: 8080, name: api}]`, ""},
	} {
		in := podWith("  containers:\n  - {name: c, " + c.container + "}\n")
		result, err := Stream([]byte(in), options)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(result.Manifests), "sesame") != strings.Count(in, "sesame") {
			t.Errorf("{%s}: the key is copied", c.container)
		}
		is := strings.Join(result.Warnings, "")
		if strings.Contains(string(result.Manifests), taken) {
			is += taken
		}
		if (c.want == "") != (is == "") || !strings.Contains(is, c.want) || strings.Contains(is, "sesame") {
			t.Errorf("{%s}: %q, want %q", c.container, is, c.want)
		}
	}
}

// TestScript holds how the commands of a shell script are read.
func TestScript(t *testing.T) {
	for text, want := range map[string][][]string{
		"a 'b c' \"d 'e\"":   {{"a", "b c", "d 'e"}},
		"a\\\r\n \\\n b":     {{"a", "b"}},
		"a # b\nc":           {{"a"}, {"c"}},
		"a#b ''":             {{"a#b", ""}},
		"a && b;c":           {{"a"}, nil, {"b"}, {"c"}},
		`a \"b 'e\'`:         {{"a", `"b`, `e\`}},
		"a$(b (c) d)e f":     {{"a$(b (c) d)e", "f"}},
		"a $((1 + 2)) `d e`": {{"a", "$((1 + 2))", "`d e`"}},
		"${a:-b c}":          {{"${a:-b c}"}},
		"\\":                 {{"\\"}},
	} {
		if is := script(text); !cmp.Equal(is, want) {
			t.Errorf("%q: %q, want %q", text, is, want)
		}
	}
}

// TestReleaseImage holds that a release injects its own image, and anything else the latest one.
func TestReleaseImage(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "ghcr.io/llm-prober/prober:1.2.3",
		"devel":  "ghcr.io/llm-prober/prober:latest",
		"v0.0.0-20261121220000-0123456789ab+dirty": "ghcr.io/llm-prober/prober:latest",
	} {
		if is := ReleaseImage(version); is != want {
			t.Errorf("%s: %s, want %s", version, is, want)
		}
	}
}
