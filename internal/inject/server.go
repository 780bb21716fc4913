package inject

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A server is a kind of model server: how it is recognized, and where it listens.
type server struct {
	name   string
	image  string     // pattern of the last part of its image's name, without tag and digest
	starts [][]string // the words that start it, the first by its last part
	port   string     // where it listens if nothing else is said
	flag   string     // that says where it listens, beside --port
	env    string     // the variable that does
	key    string     // the variable with its API key
	base   string     // what stands before /v1 in its paths
}

// servers are the kinds that are known, without routers and gateways, of which some come in the images of these: what a command
// starts counts before the image that it is in.
var servers = []server{
	{
		// VLLM_PORT is not where vLLM serves, but what its own processes talk over.
		name: "vLLM", port: "8000", key: "VLLM_API_KEY",
		image:  `vllm|vllm-(openai|cpu|cuda|rocm|tpu|neuron)[^/]*|llm-d|llm-d-(cuda|rocm|xpu|hpu|cpu|aws|gke)[^/]*|llm-d-inference-sim`,
		starts: [][]string{{"vllm", "serve"}, {"vllm.entrypoints.openai.api_server"}, {"llm-d-inference-sim"}},
	},
	{name: "SGLang", port: "30000", image: `sglang`, starts: [][]string{{"sglang.launch_server"}, {"sglang", "serve"}}},
	{
		// 3000 is the launcher's own default; its image says 80. The images are Hugging Face's and Google's.
		name: "TGI", port: "80", flag: "-p", env: "PORT", key: "API_KEY",
		image:  `text-generation-inference|huggingface-text-generation-inference[^/]*`,
		starts: [][]string{{"text-generation-launcher"}},
	},
	{name: "TensorRT-LLM", port: "8000", starts: [][]string{{"trtllm-serve"}}},
	{name: "Triton", port: "8000", flag: "--http-port", starts: [][]string{{"tritonserver"}}},
	{
		name: "llama.cpp", port: "8080", env: "LLAMA_ARG_PORT", key: "LLAMA_API_KEY",
		image: `llama\.cpp`, starts: [][]string{{"llama-server"}},
	},
	{name: "Ollama", port: "11434", env: "OLLAMA_HOST", image: `ollama`, starts: [][]string{{"ollama", "serve"}}},
	{name: "LMDeploy", port: "23333", flag: "--server-port", image: `lmdeploy`, starts: [][]string{{"lmdeploy", "serve", "api_server"}}},
	{
		name: "KServe's Hugging Face server", port: "8080", flag: "--http-port", base: "/openai",
		image: `huggingfaceserver[^/]*`, starts: [][]string{{"huggingfaceserver"}},
	},
}

// programs are words with which arguments begin that are a command of their own.
var programs = []string{"sh", "bash", "/bin/sh", "/bin/bash", "python", "python3", "ray", "sleep"}

// recognize returns the server that a container runs, and its flags. ok is false if it has only the image of one, or not even
// that: then the server has no name.
func recognize(c container) (s serving, ok bool) {
	commands := c.commands()
	for _, known := range servers {
		for _, words := range commands {
			if args, ok := known.started(words); ok {
				return serving{container: c, server: known, flags: c.flags(args)}, true
			}
		}
	}
	s = serving{container: c, flags: c.flags(slices.Concat(commands...))}
	for _, known := range servers {
		if is, _ := regexp.MatchString("(^|/)("+known.image+")([:@][^/]*)?$", c.Image); is && known.image != "" {
			s.server = known
			return s, len(c.Command) == 0 && (len(c.Args) == 0 || !slices.Contains(programs, c.Args[0]))
		}
	}
	return s, false
}

// started reports whether words start s, and what follows.
func (s server) started(words []string) (args []string, ok bool) {
	for i := range words {
		if i > 0 && strings.HasPrefix(words[i-1], "-") && words[i-1] != "-m" && words[i-1] != "--" {
			continue // the value of a flag, like --container tritonserver
		}
		for _, start := range s.starts {
			end := i + len(start)
			if end <= len(words) && path.Base(words[i]) == start[0] && slices.Equal(words[i+1:end], start[1:]) {
				return words[end:], end == len(words) || words[end] != "disaggregated" // trtllm-serve disaggregated is a router
			}
		}
	}
	return nil, false
}

// flags are the flags among args with their values, as --port=1 or --port 1; the last of a name counts. One that names a variable
// of c has the value of that, if it is there. vLLM and others take --api_key as --api-key.
func (c container) flags(args []string) map[string]string {
	flags := map[string]string{}
	for i, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		if strings.HasPrefix(name, "-") {
			flags[strings.ReplaceAll(name, "_", "-")] = cmp.Or(c.env(variable(value)).Value, value)
		}
	}
	return flags
}

// unasked are patterns of flags with their values of servers that are not to be asked, and why.
var unasked = []struct{ flag, why string }{
	{`^--headless `, "it accepts no requests"},
	{`^--(is-embedding|embeddings?|reranking) `, "its model answers no questions"},
	{`^--(runner pooling|task (embed|embedding|classify|score|reward))$`, "its model answers no questions"},
	{`^--disaggregation-mode (prefill|decode)$`, "it is half of a disaggregated server"},
	{`(?s)^--kv-transfer-config .*kv_role\W+kv_producer`, "it only prefills"},
}

// halved says why the model server of a pod is not to be asked; empty if it is, or if it is wanted all the same.
func halved(p pod, s serving, wanted bool) string {
	mode := p.meta.Annotations["serving.kserve.io/deploymentMode"]
	switch {
	case wanted:
		return ""
	case text(p.object, "kind") == "InferenceService" && mode != "Standard" && mode != "RawDeployment":
		return "Knative refuses sidecars with a restartPolicy, and serving.kserve.io/deploymentMode does not say Standard"
	case p.meta.Labels["llm-d.ai/role"] == "prefill":
		return "it only prefills (llm-d.ai/role)"
	case p.group && !s.has("--data-parallel-hybrid-lb", "-dph", "--data-parallel-external-lb", "-dpe", "--data-parallel-rank", "-dpn"):
		// vLLM answers on each node of its group where something else balances the load of its nodes
		// (https://docs.vllm.ai/en/latest/serving/data_parallel_deployment).
		return "all its pods are alike, and only its leaders serve; give it a leaderTemplate"
	}
	for _, one := range unasked {
		for flag, value := range s.flags {
			if is, _ := regexp.MatchString(one.flag, flag+" "+value); is {
				return one.why + " (" + flag + ")"
			}
		}
	}
	return ""
}

// commands are the words of the command that a container is given, or of those in the script that it gives a shell.
func (c container) commands() [][]string {
	words := slices.Concat(c.Command, c.Args)
	i := 1 + slices.IndexFunc(words, shellFlag.MatchString)
	if 0 < i && i < len(words) && slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh"}, path.Base(words[0])) {
		return script(words[i])
	}
	return [][]string{words}
}

// shellPart is a part of a word of a shell script: a quotation, an escape, an expansion, or a character.
const shellPart = `(?s:'([^']*)'|"((?:\\.|[^"\\])*)"|\\\r?\n|\\(.)|` +
	`(\$\((?:[^()]|\([^()]*\))*\)|\$\{[^}]*\}|` + "`[^`]*`" + `|[^#\s;&|()]))`

var (
	shellFlag  = regexp.MustCompile(`^-\w*c\w*$`) // the one before a script: -c, -ec, -lc
	shellWord  = regexp.MustCompile(shellPart)
	shellToken = regexp.MustCompile(`#[^\n]*|[\n;&|()]|` + shellPart + `(?:#|` + shellPart + `)*`)
)

// script are the words of the simple commands of a shell script, without their quotes. Nothing is expanded.
func script(text string) [][]string {
	commands := [][]string{nil}
	for _, token := range shellToken.FindAllString(text, -1) {
		if strings.Contains("\n;&|()", token) {
			commands = append(commands, nil)
		} else if word := shellWord.ReplaceAllString(token, "$1$2$3$4"); token[0] != '#' && (word != "" || token[0] != '\\') {
			last := &commands[len(commands)-1]
			*last = append(*last, word) // a comment is no word, nor is a line that goes on
		}
	}
	return commands
}
