package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/inject"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/wire"
)

// maxManifests is how many bytes of manifests are read.
const maxManifests = 64 << 20

// imageName is where the image is published, without its tag.
const imageName = "ghcr.io/llm-prober/prober"

func newInject() *cobra.Command {
	var file, key string
	var env []string
	var o inject.Options
	cmd := &cobra.Command{
		Use:   "inject -f FILE",
		Short: "Add the prober as a sidecar to the model servers of Kubernetes manifests",
		Long: `Inject reads manifests, YAML documents or JSON, adds the prober as a native sidecar to
every pod that holds a model server, and writes them all to standard output. What it
does not change stays as it was, byte for byte; a second time it changes nothing. What
was done, with the tokens per day and pod, and what should be known goes to standard error.

Model servers are recognized by their command or their image. The annotation
prober.llm-prober.io/inject: "true" or "false" on the pod template decides for its pods,
prober.llm-prober.io/port says where the server listens; without it that is --port, what the
server's own arguments or variables say, the container port called http, or the server's
default. Kubernetes 1.29 or later.

Exit code: 0, 2 for usage, for manifests that cannot be read, and if there is no model
server in them (but with --allow-none); nothing is written then.`,
		Example: `  prober inject -f vllm.yaml | kubectl apply -f -
  kubectl kustomize . | prober inject -f - --workload Deployment/vllm | kubectl apply -f -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			problems := injectFlags(&o, env, key)
			in, unread := readManifests(file, cmd.InOrStdin())
			if problems = append(problems, unread...); len(problems) > 0 {
				return problems
			}
			o.Check = checkSidecar
			warnFiles(cmd.ErrOrStderr(), o.Env)
			return injectStream(cmd, in, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&file, "filename", "f", "", "file with manifests; - is standard input")
	flags.StringVar(&o.Image, "image", releaseImage(buildInfo().Version), "image of the sidecar")
	flags.IntVar(&o.Port, "port", 0, "port of all model servers (default: what their manifests say)")
	flags.StringArrayVar(&o.Workloads, "workload", nil, "kind/name or name of a workload, the only one to change; may be repeated")
	flags.StringArrayVar(&env, "env", nil, "KEY=VALUE, a variable for the sidecar; may be repeated")
	flags.StringVar(&key, "api-key-secret", "", "NAME/KEY of the Secret with the servers' API key (default: the one that their manifests name)")
	flags.BoolVar(&o.AllowNone, "allow-none", false, "let manifests without any model server pass as they are")
	return cmd
}

// releaseImage is the image of a release, or the latest one for a binary that is
// none.
func releaseImage(version string) string {
	if regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(version) {
		return imageName + ":" + strings.TrimPrefix(version, "v")
	}
	return imageName + ":latest"
}

// injectFlags completes o by flags that need to be read, and returns everything
// that is wrong with them.
func injectFlags(o *inject.Options, env []string, key string) (problems config.Problems) {
	if o.Port < 0 || o.Port > 65535 {
		problems = append(problems, config.Problem{Place: fmt.Sprintf("--port=%d", o.Port), Text: "no port", Hint: "want 1 to 65535"})
	}
	if o.Image == "" {
		problems = append(problems, config.Problem{Place: `--image=""`, Text: "no image", Hint: "give one, or leave --image out"})
	}
	for _, pair := range env {
		one, wrong := variable(pair)
		problems = append(problems, wrong...)
		o.Env = append(o.Env, one)
	}
	if key != "" {
		var ok bool
		if o.Key.Name, o.Key.Key, ok = strings.Cut(key, "/"); !ok || o.Key.Name == "" || o.Key.Key == "" || strings.Contains(o.Key.Key, "/") {
			problems = append(problems, config.Problem{Place: fmt.Sprintf("--api-key-secret=%q", key), Text: "not a key of a Secret", Hint: "want NAME/KEY"})
		}
	}
	return problems
}

// memoryLimit is what Go takes as GOMEMLIMIT; a program that is given something
// else ends before it begins.
var memoryLimit = regexp.MustCompile(`^(off|\d+(B|(Ki|Mi|Gi|Ti)B)?)$`)

// variable is the variable of a KEY=VALUE, and what is wrong with it, for which
// its value is not needed or not ours to read.
func variable(pair string) (e inject.Env, wrong config.Problems) {
	name, value, ok := strings.Cut(pair, "=")
	place := "--env=" + name
	switch {
	case !ok || !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name):
		wrong = config.Problems{{Place: fmt.Sprintf("--env=%q", name), Text: "no variable", Hint: "want KEY=VALUE"}}
	case strings.HasSuffix(name, "_API_KEY"):
		wrong = config.Problems{{Place: place, Text: "a manifest is no place for a key", Hint: "want --api-key-secret NAME/KEY"}}
	case strings.HasSuffix(name, "_HEADERS"):
		wrong = config.Problems{{Place: place, Text: "a manifest is no place for headers, which hold keys", Hint: "patch the variable in with a secretKeyRef"}}
	case name == "PROBER_LISTEN_ADDRESS":
		wrong = config.Problems{{Place: place, Text: "a sidecar serves on port 9464 of its pod, where its preStop hook and Prometheus look for it", Hint: "leave it out"}}
	case name == "GOMEMLIMIT" && !memoryLimit.MatchString(value):
		wrong = config.Problems{{Place: place, Text: "no limit that Go takes: the sidecar would end at its start", Hint: "want bytes with their unit, for example 115MiB"}}
	}
	return inject.Env{Name: name, Value: value}, wrong
}

// ignored is how a warning ends that a variable is none of ours.
const ignored = ": unknown variable, ignored"

// checkSidecar says how many tokens a day a sidecar with these variables costs,
// what the prober would refuse of them, and which of them it does not know: a sidecar that ends at its start takes the
// model server with it. Files are in the image, if anywhere, and are not judged.
func checkSidecar(environ map[string]string) (tokensPerDay string, problems []inject.Problem) {
	c, err := config.Load(config.Options{
		Environ: environ, APIs: engine.APIs(), Servers: wire.Servers(),
		ReadFile: func(string) ([]byte, error) { return []byte("{}"), nil },
	})
	if wrong, ok := errors.AsType[config.Problems](err); ok {
		for _, p := range wrong {
			problems = append(problems, inject.Problem(p))
		}
		return "", problems
	}
	if err != nil {
		return "", []inject.Problem{{Place: "the sidecar's variables", Text: err.Error(), Hint: "leave --env out"}}
	}
	for _, warning := range c.Warnings {
		if variable, ok := strings.CutSuffix(warning, ignored); ok {
			problems = append(problems, inject.Problem{Place: "--env=" + variable, Text: "unknown variable", Hint: "see docs/configuration.md"})
		}
	}
	return sidecarTokens(c), problems
}

// sidecarTokens is what a sidecar sends and asks for in a day. The lengths of a
// book or a data set are taken for those configured: their files are in the image.
func sidecarTokens(c *config.Config) string {
	total := 0
	for _, t := range c.Targets {
		asks := prompt.Options{Workload: prompt.Workload(t.Prompt), Tokens: t.PromptTokens, Answer: t.MaxTokens, Rounds: t.SessionRounds}
		if asks.Workload == prompt.Dataset {
			asks.Workload = prompt.Cold
		}
		total += (&engine.Job{Prompts: asks}).TokensPerDay(t)
	}
	return report.Grouped(total)
}

// warnFiles says which variables name files, which the sidecar does not mount.
func warnFiles(w io.Writer, env []inject.Env) {
	for _, e := range env {
		if strings.HasPrefix(e.Name, "PROBER_") && strings.HasSuffix(e.Name, "_FILE") && e.Value != "" {
			fmt.Fprintf(w, "warning: --env=%s: the file must be in the image: the sidecar mounts none\n", e.Name)
		}
	}
}

// readManifests reads a file, or standard input for -.
func readManifests(file string, stdin io.Reader) ([]byte, config.Problems) {
	const hint = "give a file, or - for standard input"
	place := fmt.Sprintf("--filename=%q", file)
	if file == "" {
		return nil, config.Problems{{Place: "--filename", Text: "nothing to read", Hint: hint}}
	}
	in := stdin
	if file != "-" {
		f, err := os.Open(file) //nolint:gosec // what the user names
		if err != nil {
			return nil, config.Problems{{Place: place, Text: "cannot be opened: " + reason(err), Hint: hint}}
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxManifests+1))
	switch {
	case err != nil:
		return nil, config.Problems{{Place: place, Text: "cannot be read: " + reason(err), Hint: hint}}
	case len(data) > maxManifests:
		return nil, config.Problems{{Place: place, Text: "holds more than 64 MiB", Hint: "give fewer manifests at once"}}
	}
	return data, nil
}

// reason is an error of a file without its path.
func reason(err error) string {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// injectStream writes the manifests with their sidecars, and says what was done.
func injectStream(cmd *cobra.Command, in []byte, o inject.Options) error {
	result, err := inject.Stream(in, o)
	for _, warning := range result.Warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
	}
	if wrong, ok := errors.AsType[inject.Problems](err); ok {
		problems := make(config.Problems, len(wrong))
		for i, p := range wrong {
			problems[i] = config.Problem(p)
		}
		return problems
	}
	for _, done := range result.Injected {
		fmt.Fprintln(cmd.ErrOrStderr(), done)
	}
	_, err = cmd.OutOrStdout().Write(result.Manifests)
	return err
}
