package inject

import (
	"path"
	"slices"
	"strings"
)

// A server is a kind of model server: how it is recognized, and where it
// listens.
type server struct {
	name   string
	images []string   // patterns of the last part of the image's name, as of [path.Match]
	starts [][]string // the words that start it, the first by its last part
	port   int        // where it listens if nothing else is said
	flags  []string   // those that say where it listens
	env    string     // the variable that does
	key    string     // the variable with its API key
	base   string     // what stands before /v1 in its paths
}

// servers are the kinds that are known. Routers, schedulers, gateways and cache
// servers are not among them, though some come in the images of these: what a
// command starts counts before the image that it is in.
var servers = []server{
	{
		// VLLM_PORT is not where vLLM serves, but what its own processes talk over.
		name: "vLLM", port: 8000, flags: []string{"--port"}, key: "VLLM_API_KEY",
		images: []string{
			"vllm", "vllm-openai*", "vllm-cpu*", "vllm-cuda*", "vllm-rocm*", "vllm-tpu*", "vllm-neuron*", "llm-d", "llm-d-cuda*",
			"llm-d-rocm*", "llm-d-xpu*", "llm-d-hpu*", "llm-d-cpu*", "llm-d-aws*", "llm-d-gke*", "llm-d-inference-sim",
		},
		starts: [][]string{{"vllm", "serve"}, {"vllm.entrypoints.openai.api_server"}, {"llm-d-inference-sim"}},
	},
	{
		name: "SGLang", port: 30000, flags: []string{"--port"},
		images: []string{"sglang"},
		starts: [][]string{{"sglang.launch_server"}, {"sglang", "serve"}},
	},
	{
		// 3000 is the launcher's own default; its image says 80.
		name: "TGI", port: 80, flags: []string{"--port", "-p"}, env: "PORT", key: "API_KEY",
		images: []string{"text-generation-inference", "huggingface-text-generation-inference*"}, // Hugging Face's, Google's
		starts: [][]string{{"text-generation-launcher"}},
	},
	{
		name: "TensorRT-LLM", port: 8000, flags: []string{"--port"},
		starts: [][]string{{"trtllm-serve"}},
	},
	{
		name: "Triton", port: 8000, flags: []string{"--http-port"},
		starts: [][]string{{"tritonserver"}},
	},
	{
		name: "llama.cpp", port: 8080, flags: []string{"--port"}, env: "LLAMA_ARG_PORT", key: "LLAMA_API_KEY",
		images: []string{"llama.cpp"},
		starts: [][]string{{"llama-server"}},
	},
	{
		name: "Ollama", port: 11434, env: "OLLAMA_HOST",
		images: []string{"ollama"},
		starts: [][]string{{"ollama", "serve"}},
	},
	{
		name: "LMDeploy", port: 23333, flags: []string{"--server-port"},
		images: []string{"lmdeploy"},
		starts: [][]string{{"lmdeploy", "serve", "api_server"}},
	},
	{
		name: "KServe's Hugging Face server", port: 8080, flags: []string{"--http-port"}, base: "/openai",
		images: []string{"huggingfaceserver*"},
		starts: [][]string{{"huggingfaceserver"}},
	},
}

// programs are words with which arguments begin that are a command of their own.
var programs = []string{"sh", "bash", "/bin/sh", "/bin/bash", "python", "python3", "ray", "sleep"}

// recognize returns the server that a container runs, and the words after those
// that start it. If it has only the image of one, whose command starts something
// else, ok is false, and what is its name.
func recognize(c container) (s server, args []string, what string, ok bool) {
	for _, words := range commands(c) {
		for _, s := range servers {
			if args, ok := s.started(words); ok {
				return s, args, s.name, true
			}
		}
	}
	i := slices.IndexFunc(servers, func(s server) bool { return s.isImage(c.Image) })
	switch {
	case i < 0:
		return server{}, nil, "", false
	case len(c.Command) > 0 || len(c.Args) > 0 && slices.Contains(programs, c.Args[0]):
		return server{}, nil, servers[i].name, false
	}
	return servers[i], c.Args, servers[i].name, true
}

// started reports whether words start s, and what follows.
func (s server) started(words []string) (args []string, ok bool) {
	for i := range words {
		if i > 0 && strings.HasPrefix(words[i-1], "-") && words[i-1] != "-m" && words[i-1] != "--" {
			continue // the value of a flag, like --container tritonserver
		}
		for _, start := range s.starts {
			if len(words)-i < len(start) || path.Base(words[i]) != start[0] || !slices.Equal(words[i+1:i+len(start)], start[1:]) {
				continue
			}
			// trtllm-serve disaggregated is a router.
			args := words[i+len(start):]
			return args, len(args) == 0 || args[0] != "disaggregated"
		}
	}
	return nil, false
}

// isImage reports whether an image, with registry, tag or digest, is one of s.
func (s server) isImage(image string) bool {
	image, _, _ = strings.Cut(image, "@")
	image, _, _ = strings.Cut(path.Base(image), ":")
	return slices.ContainsFunc(s.images, func(pattern string) bool {
		ok, _ := path.Match(pattern, image)
		return ok
	})
}

// isProber reports whether a container runs the prober, in an image of whatever
// name.
func (c container) isProber() bool {
	image, _, _ := strings.Cut(c.Image, "@")
	image, _, _ = strings.Cut(path.Base(image), ":")
	_, asks := c.env("PROBER_TARGETS_0_URL")
	return image == "prober" || asks
}

// eachServes reports whether a server that was started with args, as of [dashed],
// answers on each node of its group: vLLM does where something else balances the
// load of its nodes (https://docs.vllm.ai/en/latest/serving/data_parallel_deployment).
func eachServes(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		flag, _, _ := strings.Cut(arg, "=")
		return slices.Contains([]string{"--data-parallel-hybrid-lb", "-dph", "--data-parallel-external-lb", "-dpe", "--data-parallel-rank", "-dpn"}, flag)
	})
}

// unasked says why a server that was started with args, as of [dashed], is no one
// to ask; empty if it is.
func unasked(args []string) string {
	for i, arg := range args {
		flag, v, ok := strings.Cut(arg, "=")
		if !ok && i+1 < len(args) {
			v = args[i+1]
		}
		switch flag {
		case "--headless":
			return "it accepts no requests (--headless)"
		case "--runner", "--task":
			if v == "pooling" || v == "embed" || v == "embedding" || v == "classify" || v == "score" || v == "reward" {
				return "its model answers no questions (" + flag + " " + v + ")"
			}
		case "--is-embedding", "--embedding", "--embeddings", "--reranking":
			return "its model answers no questions (" + flag + ")"
		case "--disaggregation-mode":
			if v == "prefill" || v == "decode" {
				return "it is half of a disaggregated server (" + flag + " " + v + ")"
			}
		case "--kv-transfer-config":
			if strings.Contains(strings.ReplaceAll(v, " ", ""), `"kv_role":"kv_producer"`) {
				return "it only prefills (kv_role kv_producer)"
			}
		}
	}
	return ""
}
