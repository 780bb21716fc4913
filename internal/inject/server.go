package inject

import (
	"cmp"
	_ "embed" // servers.yaml
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A server is a kind of model server: how it is recognized, and where it listens.
type server struct {
	Name   string
	Image  string     // pattern of the last part of its image's name, without tag and digest
	Starts [][]string // the words that start it, the first by its last part
	Port   string     // where it listens if nothing else is said
	Flag   string     // that says where it listens, beside --port
	Env    string     // the variable that does
	Key    string     // the variable with its API key
	Base   string     // what stands before /v1 in its paths
}

//go:embed servers.yaml
var serversYAML []byte

var servers = func() (list []server) {
	if err := yaml.Unmarshal(serversYAML, &list); err != nil {
		panic(err) // it is a part of the program
	}
	return list
}()

// programs are words with which arguments begin that are a command of their own.
var programs = []string{"sh", "bash", "/bin/sh", "/bin/bash", "python", "python3", "ray", "sleep"}

// recognize returns the server that a container runs, and its flags. ok is false if it has its image only, or not even that.
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
		if is, _ := regexp.MatchString("(^|/)("+known.Image+")([:@][^/]*)?$", c.Image); is && known.Image != "" {
			s.server = known
			return s, len(c.Command) == 0 && (len(c.Args) == 0 || !slices.Contains(programs, c.Args[0]))
		}
	}
	return s, false
}

func (s server) started(words []string) (args []string, ok bool) {
	for i := range words {
		if i > 0 && strings.HasPrefix(words[i-1], "-") && words[i-1] != "-m" && words[i-1] != "--" {
			continue // the value of a flag, like --container tritonserver
		}
		for _, start := range s.Starts {
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
