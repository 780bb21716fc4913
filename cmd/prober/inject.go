package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/inject"
	"github.com/llm-prober/prober/internal/prompt"
)

func newInject() *cobra.Command {
	var file, key string
	var env []string
	var o inject.Options
	cmd := &cobra.Command{
		Use:   "inject -f FILE",
		Short: "Add the prober as a sidecar to model servers in manifests",
		Long: `Inject reads manifests, YAML documents or JSON, adds the prober as a native
sidecar to every pod that contains a model server, and writes all of them to
standard output. Documents that do not change stay byte for byte as they were.
What was injected, with its tokens a day, goes to standard error.

Model servers are recognized by their command or their image. The annotations
prober.llm-prober.io/inject: "true" or "false" and prober.llm-prober.io/port on
the pod template override that. Kubernetes 1.29 or later.

Exit code: 0, or 2 for usage, for manifests that cannot be read, and if they
contain no model server (unless --allow-none); nothing is written then.`,
		Example: `  prober inject -f vllm.yaml | kubectl apply -f -
  kubectl kustomize . | prober inject -f - | kubectl apply -f -
  prober inject -f vllm.yaml --workload Deployment/vllm --env PROBER_QPS=0.05`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%q: manifests are given by -f", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, problems := inject.ReadManifests(file, cmd.InOrStdin())
			if problems = append(o.Parse(env, key), problems...); len(problems) > 0 {
				return problems
			}
			o.TokensPerDay = tokensPerDay
			result, err := inject.Stream(in, o)
			for _, warning := range result.Warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
			}
			if err != nil {
				return err
			}
			for _, done := range result.Injected {
				fmt.Fprintln(cmd.ErrOrStderr(), done)
			}
			_, err = cmd.OutOrStdout().Write(result.Manifests)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&file, "filename", "f", "", "`file` with manifests; - is standard input")
	flags.StringVar(&o.Image, "image", inject.ReleaseImage(buildInfo().Version), "image of the sidecar")
	flags.Uint16Var(&o.Port, "port", 0, "port of all model servers (default: from their manifests)")
	flags.StringArrayVar(&o.Workloads, "workload", nil, "kind/name or name of a workload; only the named ones are changed; may be repeated")
	flags.StringArrayVar(&env, "env", nil, "`KEY=VALUE`, a variable for the sidecar; may be repeated")
	flags.StringVar(&key, "api-key-secret", "", "`NAME/KEY` of the Secret with the servers' API key (default: the one in their manifests)")
	flags.BoolVar(&o.AllowNone, "allow-none", false, "pass manifests without any model server through unchanged")
	return cmd
}

func tokensPerDay(c *config.Config) string {
	total := 0
	for _, t := range c.Targets {
		asks := prompt.Options{Workload: prompt.Workload(t.Prompt), Tokens: t.PromptTokens, Answer: t.MaxTokens, Rounds: t.SessionRounds}
		if asks.Workload == prompt.Dataset { // its file is in the image: the configured length is taken
			asks.Workload = prompt.Cold
		}
		total += (&engine.Job{Prompts: asks}).TokensPerDay(t, 0)
	}
	return format.Grouped(total)
}
