package main

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/daemon"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/wire"
)

// A system is one server that the simulator can be, and how a user points the
// prober at it.
type system struct {
	name   string
	config sim.Config
	api    string            // as configured
	given  map[string]string // other settings
}

const (
	askedPrompt = 1000
	askedOutput = 20
)

// systems are all that the simulator can be: the native APIs, and the types of
// servers behind OpenAI's, as a chat and as a completion.
func systems() []system {
	var list []system
	for _, api := range sim.APIs() {
		if api == "openai" {
			continue
		}
		s := system{name: api, config: sim.Config{API: api}, api: wire.Auto, given: map[string]string{}}
		switch api {
		case "sglang", "llama-server", "openai-responses": // auto takes their OpenAI chat, which they have as well
			s.api = api
		case "azure-openai":
			s.given["MODEL"] = "gpt"
			s.config.Model = "gpt"
		}
		if api == "anthropic" || api == "azure-openai" {
			s.config.APIKey = "sk-sesame"
		}
		list = append(list, s)
	}
	for _, kind := range sim.ServerTypes() {
		chat := wire.Auto
		if kind == "tgi" { // auto takes its native API
			chat = "openai-chat"
		}
		list = append(list,
			system{name: kind, config: sim.Config{Server: kind}, api: chat},
			system{name: kind, config: sim.Config{Server: kind}, api: "openai-completions"})
	}
	return list
}

// TestServers probes every system that the simulator can be once, as a user does,
// and holds docs/servers.md to what came out: an answer of exactly the tokens
// that were asked, to a prompt of exactly the tokens that were asked.
func TestServers(t *testing.T) {
	var rows []serverRow
	for _, s := range systems() {
		t.Run(s.name+"/"+s.api, func(t *testing.T) { rows = append(rows, probeSystem(t, s)) })
	}
	var b strings.Builder
	b.WriteString(serversHead)
	for _, r := range merged(merged(rows, true), false) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.servers, r.apis, r.found)
	}
	b.WriteString(serversFoot)
	if *update {
		if err := os.WriteFile(root+"docs/servers.md", []byte(b.String()), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(b.String(), read(t, "docs/servers.md")); diff != "" {
		t.Errorf("docs/servers.md is not what the tests did: run make generate\n%s", diff)
	}
}

// A serverRow is a line of the table: what was found of some servers by some APIs.
type serverRow struct{ servers, apis, found string }

// merged makes one row of those that differ only in their API, or only in their server.
func merged(rows []serverRow, byAPI bool) (list []serverRow) {
	for _, r := range rows {
		i := slices.IndexFunc(list, func(o serverRow) bool {
			return o.found == r.found && (byAPI && o.servers == r.servers || !byAPI && o.apis == r.apis)
		})
		switch {
		case i < 0:
			list = append(list, r)
		case byAPI:
			list[i].apis += ", " + r.apis
		default:
			list[i].servers += ", " + r.servers
		}
	}
	return list
}

// probeSystem probes a system and returns its line of the table.
func probeSystem(t *testing.T, s system) serverRow {
	t.Helper()
	s.config.Profile, s.config.Seed = profile(t, "fast"), 1
	simulated := sim.New(s.config)
	server := httptest.NewServer(simulated)
	t.Cleanup(server.Close)
	t.Cleanup(simulated.Close)
	given := map[string]string{
		"API": s.api, "PROMPT_TOKENS": fmt.Sprint(askedPrompt), "MAX_TOKENS": fmt.Sprint(askedOutput), "NAME": "target",
	}
	maps.Copy(given, s.given)
	assets := engine.NewAssets(config.ReadFile)
	c, err := daemon.Load(config.Options{
		Environ: map[string]string{"PROBER_API_KEY": s.config.APIKey}, Overrides: given, URLs: []string{server.URL},
	}, assets)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := engine.Assemble(c.Targets, assets, nil, buildInfo().Version)
	if err != nil {
		t.Fatal(err)
	}
	results, _, err := jobs[0].Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, known := results[0], jobs[0].Members[0].Capabilities()
	if r.Outcome != probe.OK {
		t.Fatalf("%s: %v", r.Outcome, r.Err)
	}
	prompt, output := r.Usage.Prompt, r.Usage.Generated()
	if prompt != wire.Tokens(askedPrompt) || output != wire.Tokens(askedOutput) {
		t.Errorf("prompt of %+v tokens, answer of %+v", prompt, output)
	}
	if want := strings.TrimSuffix(s.name, "-responses"); known.Server.Name != want {
		t.Errorf("found server %q, want %q", known.Server.Name, want)
	}
	return serverLine(s, r, known, means(jobs[0]))
}

// means is what made the prompts of a job exact.
func means(j *engine.Job) string {
	means, _, _ := j.Means()
	return string(means)
}

// serverLine is the line of one system.
func serverLine(s system, r *probe.Result, known probe.Capabilities, exactBy string) serverRow {
	can := map[string]wire.Claim{}
	for _, a := range known.Abilities() {
		can[a.Name] = a.Claim
	}
	api := fmt.Sprintf("`%s`", r.API)
	if s.api == wire.Auto {
		api += " (auto)"
	}
	return serverRow{s.name, api, fmt.Sprintf("%s | %s | %s | %s | %s", exactBy, r.Source, can["exact_output"], r.Cache, can["cache_salt"])}
}

const serversHead = `# Servers

<!-- generated by TestServers of cmd/prober: run make generate -->

Every system that the built-in simulator can be, probed with a prompt of 1,000 tokens and an answer of 20. All were recognized, and
both lengths were exact. Recorded streams of real servers are tested beside it.

- **API**: as ` + "`--api`" + ` takes it; *(auto)* where the default, ` + "`auto`" + `, finds it.
- **prompt by**: what made its length exact before the first probe: the server's tokenizer, or the usage of a few requests with short
  answers, which are recorded nowhere.
- **tokens a frame**: what ITL rests on: continuous usage, token ids, or one each because their sum says so (` + "`total`" + `).
- **output enforced**: whether any answer of another length is ` + "`wrong_length`" + `. One that a length limit cut short always is.
- **cache**: what the server told of its prefix cache; ` + "`unknown`" + ` also where it reports 0 cached tokens and is not known to ever report others;
  **salt**: whether prompts are kept apart in it by a salt.

| server | API | prompt by | tokens a frame | output enforced | cache | salt |
|---|---|---|---|---|---|---|
`

const serversFoot = `
## TGI

- Behind a gateway that passes only ` + "`/v1`" + `, TGI is recognized by its list of models or by the header ` + "`x-compute-type`" + ` of its answers. It has no
  tokenizer there: prompts are made exact by usage.
- **Each frame with a choice is one token**, also without text: half of a character that takes two tokens, or the end of the answer. An
  answer of nothing but its end is ` + "`ok`" + `, with one token, on each of its three APIs.
- **The first token is about 41 ms late** on a reused connection (` + "`--connection reuse`" + `) and over HTTP/2 (` + "`--http-version 2`" + `): TGI does not set
  TCP_NODELAY, so that the kernel holds the token back until the header is acknowledged. Other clients of these connections wait as well. New
  connections, the default, do not.
- **Answers above 1,024 tokens** are generated in pieces of 1,024, each with a prefill of its own: a gap as long as TTFT follows each 1,024
  tokens. The last piece is whole as well: an answer of 1,100 tokens would have 2,048, so it is canceled and is ` + "`wrong_length`" + `.
- Validation errors come inside the stream, with status 200; they are ` + "`rejected`" + `. "Model is overloaded" is ` + "`overloaded`" + `, whatever its code.
- Two limits bind: ` + "`max_total_tokens`" + ` for prompt and answer together, and ` + "`max_input_tokens`" + ` for the prompt.

## Dynamo, Ollama, LiteLLM and others

- **Dynamo** and **Ollama** guess a prompt's length by the Messages and Responses APIs before they have read it (` + "`count_tokens`" + `,
  ` + "`message_start`" + `): the prober uses the count at the end of the answer. Their contexts are known, Ollama's once the model is loaded.
- **Ollama** tells 0 cached tokens whatever its cache did, so that the cache state is ` + "`unknown`" + `. It breaks off an answer in which one token is
  repeated about 30 times: ` + "`truncated`" + `.
- **LiteLLM** without a database answers 400 ` + "`no_db_connection`" + ` to every key but its master key: ` + "`unauthorized`" + `. Once all servers behind it
  failed it answers 429 ` + "`all_deployments_in_cooldown`" + `: ` + "`overloaded`" + `, and bad for an objective, since no quota would help its users.
- **llama-cpp-python** answers a prompt longer than its context with an empty stream: ` + "`empty`" + `.
- **SGLang**'s native API repeats the whole answer in each frame, or only adds to it (` + "`--incremental-streaming-output`" + `): both are read right.
- **Portkey** wants a header of its own (` + "`x-portkey-config`" + ` or ` + "`x-portkey-provider`" + `), set in ` + "`PROBER_TARGETS_n_HEADERS`" + `.
- A wrong model is told as one whatever the status: transformers and LiteLLM answer 400.
`
