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
	return serverLine(s, r, known, jobs[0].ExactBy())
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
- **prompt by**: what made its length exact: the server's tokenizer, or the usage of its answers, which takes a probe or
  two more.
- **tokens a frame**: what ITL rests on: continuous usage, token ids, or one each because their sum says so (` + "`total`" + `).
- **output enforced**: whether any answer of another length is ` + "`wrong_length`" + `. One that a length limit cut short always is.
- **cache**: what the server told of its prefix cache; ` + "`unknown`" + ` also where it reports 0 cached tokens and is not known to ever report others;
  **salt**: whether prompts are kept apart in it by a salt.

| server | API | prompt by | tokens a frame | output enforced | cache | salt |
|---|---|---|---|---|---|---|
`
