package engine

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/llm-prober/prober/internal/config"
)

// An arrival is what shows that a setting has an effect: either an example and what it changes, or a test that holds
// it.
type arrival struct {
	example string // a value that is not the default
	effect  string // in the text of [effects], and only with the example
	needs   string // another setting, with which alone there is an effect
	test    string // file and name of a test that holds it; the file names the setting
}

// arrivals has a row for each setting, by its name without PROBER_ and TARGETS_n_.
var arrivals = map[string]arrival{
	"URL":            {example: "http://other/base", effect: "POST /base/chat/completions HTTP/1.1\r\nHost: other\r\n"},
	"PATH":           {example: "/my/chat", effect: "POST /my/chat HTTP/1.1\r\n"},
	"API":            {example: "openai-completions", effect: "POST /v1/completions HTTP/1.1\r\n"},
	"API_VERSION":    {example: "2030-01-01", effect: "?api-version=2030-01-01 HTTP/1.1\r\n", needs: "API=azure-openai"},
	"SERVER":         {example: "litellm", effect: `"cache":{"no-cache":true}`},
	"MODEL":          {example: "llama", effect: `"model":"llama"`},
	"PRIORITY":       {example: "-5", effect: `"priority":-5`},
	"BODY":           {example: `{"service_tier":"flex"}`, effect: `"service_tier":"flex"`},
	"MAX_TOKENS":     {example: "7", effect: `"max_completion_tokens":7`},
	"HEADERS":        {example: "X-Team=search", effect: "\r\nX-Team: search\r\n"},
	"API_KEY":        {example: "sk", effect: "\r\nAuthorization: Bearer sk\r\n"},
	"SESSION_HEADER": {example: "x-user-id", effect: "\r\nX-User-Id: ", needs: "PROMPT=sessions"},
	"HTTP_VERSION":   {example: "2", effect: "POST /v1/chat/completions HTTP/2.0\r\n"},
	"CONNECTION":     {example: "reuse", effect: "\n1 connections\n"},
	"TIMEOUT":        {example: "7s", effect: "timeout after 7s", needs: "MODEL=silent"},
	"STALL_TIMEOUT":  {example: "7s", effect: "stalled after 7s", needs: "MODEL=stalls"},
	"BACKOFF_LIMIT":  {example: "7s", effect: "paused for 7s", needs: "MODEL=busy"},
	"QPS":            {example: "4", effect: "constant every 250ms"},
	"ARRIVAL":        {example: "poisson", effect: "poisson every 10s"},
	"NAME":           {example: "a", effect: "\na asked "},
	"GROUP":          {example: "g", effect: " of g:"},
	"PROMPT":         {example: "warm", effect: " asked warm "},
	"PROMPT_TOKENS":  {example: "30", effect: "prompts of 30 tokens"},
	"SESSION_USERS":  {example: "3", effect: " 3 users"},
	"SESSION_ROUNDS": {example: "4", effect: " 4 rounds"},
	"SYSTEM_TOKENS":  {example: "5", effect: "system prompt of 5,"},
	"CANARY_DEPTH":   {example: "0.9,0.25", effect: "code words at [0.25 0.9]"},

	"MAX_IN_FLIGHT":        {test: "engine/lifecycle_test.go TestProbesAtOnce"},
	"DATASET_FILE":         {test: "engine/lifecycle_test.go TestDataSetsAcrossReloads"},
	"TOKEN_BUDGET_PER_DAY": {test: "engine/lifecycle_test.go TestABudgetOutlastsItsTarget"},
	"REFUSALS":             {test: "engine/settings_test.go TestSettingsInMetrics"},
	"TLS_SERVER_NAME":      {test: "engine/job_test.go TestNamesForTLS"},
	"TIMESTAMPS":           {test: "check/fleet_test.go TestFleet"},
	"WAIT_FOR_READY":       {test: "daemon/waiting_test.go TestInstanceWaitsForItsServer"},
	"API_KEY_FILE":         {test: "daemon/reload_test.go TestAKeyIsRotated"},
	"OAUTH_TOKEN_URL":      {test: "daemon/token_test.go TestOneTokenForAllTargets"},
	"OAUTH_CLIENT_ID":      {test: "daemon/token_test.go TestOneTokenForAllTargets"},
	"OAUTH_SECRET":         {test: "daemon/token_test.go TestOneTokenForAllTargets"},
	"OAUTH_SECRET_FILE":    {test: "daemon/token_test.go TestAClientSecretIsRotated"},
	"OAUTH_SCOPES":         {test: "daemon/token_test.go TestOneTokenForAllTargets"},
	"OAUTH_CLIENT_AUTH":    {test: "daemon/token_test.go TestAClientSecretIsRotated"},
	"LABELS":               {test: "daemon/reload_test.go TestReloadOfLabels"},
	"ENABLED":              {test: "daemon/reload_test.go TestReloadOfADisabledTarget"},
	"CA_FILE":              {test: "daemon/outbound_test.go TestCertificatesForTargetsAreRotated"},
	"CERT_FILE":            {test: "daemon/outbound_test.go TestCertificatesForTargetsAreRotated"},
	"KEY_FILE":             {test: "daemon/outbound_test.go TestCertificatesForTargetsAreRotated"},
	"INSECURE_SKIP_VERIFY": {test: "daemon/outbound_test.go TestCertificatesForTargetsAreRotated"},
	"OBJECTIVES_n_NAME":    {test: "daemon/reload_test.go TestReloadOfObjectives"},
	"OBJECTIVES_n_SIGNAL":  {test: "daemon/reload_test.go TestReloadOfObjectives"},
	"OBJECTIVES_n_LIMIT":   {test: "daemon/reload_test.go TestReloadOfObjectives"},
	"OBJECTIVES_n_GOAL":    {test: "daemon/reload_test.go TestReloadOfObjectives"},

	"OBJECTIVES_n_PROMPT":     {test: "engine/prompts_test.go TestAnObjectiveOfOnePrompt"},
	"PROMPTS_n_NAME":          {test: "engine/prompts_test.go TestFourPromptsShareATarget"},
	"PROMPTS_n_PROMPT":        {test: "engine/prompts_test.go TestFourPromptsShareATarget"},
	"PROMPTS_n_PROMPT_TOKENS": {test: "engine/prompts_test.go TestFourPromptsShareATarget"},
	"PROMPTS_n_MAX_TOKENS":    {test: "engine/prompts_test.go TestFourPromptsShareATarget"},
	"PROMPTS_n_SHARE":         {test: "engine/prompts_test.go TestAReloadOfPrompts"},

	"HTTP_SD_n_URL":     {test: "daemon/http_sd_test.go TestTargetsOfASource"},
	"HTTP_SD_n_REFRESH": {test: "daemon/http_sd_test.go TestTargetsOfASource"},

	"LISTEN_ADDRESS":     {test: "daemon/waiting_test.go TestIdle"},
	"WEB_CONFIG_FILE":    {test: "daemon/web_test.go TestEveryPathNeedsTLSAndThePassword"},
	"LOG_LEVEL":          {test: "../cmd/prober/run_test.go TestServersOutliveTheirReader"},
	"LOG_FORMAT":         {test: "../cmd/prober/run_test.go TestServersOutliveTheirReader"},
	"LOG_PROBES":         {test: "observe/log_test.go TestWhichProbesAreLogged"},
	"TARGETS_FILE":       {test: "daemon/rejected_test.go TestOneBadTargetStopsNoOther"},
	"RELOAD_INTERVAL":    {test: "daemon/reload_test.go TestReloadUnderLoad"},
	"DNS_INTERVAL":       {test: "daemon/addresses_test.go TestANameWithoutAddresses"},
	"SHARD":              {test: "engine/targets_test.go TestAShardLogsWhatItOwns"},
	"MAX_TOKENS_PER_DAY": {test: "daemon/daemon_test.go TestRunWarnsOfPromptsThatDoNotFit"},
	"DRAIN_ENDPOINT":     {test: "daemon/drain_test.go TestDrain"},
	"GENAI_SEMCONV":      {test: "daemon/export_test.go TestTheLastExportHasEveryProbe"},
	"EXTERNAL_URL":       {test: "daemon/reload_test.go TestVantage"},
	"GRAFANA_URL":        {test: "daemon/reload_test.go TestVantage"},
	"VANTAGE":            {test: "daemon/reload_test.go TestVantage"},
}

// TestWhatIsConfiguredArrives holds that each setting has an effect: on the request, the probe or the plan, where there
// is none without it, or as another test holds.
func TestWhatIsConfiguredArrives(t *testing.T) {
	unknown := map[string]bool{}
	for name := range arrivals {
		unknown[name] = true
	}
	for _, setting := range config.Reference() {
		name := strings.TrimPrefix(strings.TrimPrefix(setting.Variable, "PROBER_"), "TARGETS_n_")
		delete(unknown, name)
		row, ok := arrivals[name]
		if !ok {
			t.Errorf("no row for %s: say in arrivals what it changes, or which test holds that", name)
			continue
		}
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { row.check(t, name) }) })
	}
	for name := range unknown {
		t.Errorf("%s is in arrivals, and is no setting", name)
	}
}

// check checks the row of a setting.
func (a arrival) check(t *testing.T, setting string) {
	if a.test == "" {
		var needs []string
		if a.needs != "" {
			needs = append(needs, a.needs)
		}
		without := effects(t, needs...)
		with := effects(t, append(needs, setting+"="+a.example)...)
		if !strings.Contains(with, a.effect) || strings.Contains(without, a.effect) {
			t.Errorf("want %q. With the setting:\n%s\nWithout it:\n%s", a.effect, with, without)
		}
		return
	}
	path, test, _ := strings.Cut(a.test, " ")
	file, err := os.ReadFile("../" + path)
	if err != nil {
		t.Fatal(err)
	}
	name := setting
	_, ofObjective, isObjective := strings.Cut(setting, "_n_")
	if isObjective {
		name = ofObjective
	}
	flag := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	isNamed := strings.Contains(string(file), name) || strings.Contains(string(file), "--"+flag)
	if !strings.Contains(string(file), "func "+test+"(") || !isNamed {
		t.Errorf("%s has no test %s with %s", path, test, setting)
	}
}
