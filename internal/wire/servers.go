package wire

import (
	"bytes"
	_ "embed" // servers.yaml
	"fmt"

	"go.yaml.in/yaml/v3"
)

//go:embed servers.yaml
var serversYAML []byte

// servers are the known types, in the order of recognition. The list is only read.
var servers = readServers()

// readServers reads a file of ours. What is wrong in it is a mistake of ours, which every test finds.
func readServers() (list []Server) {
	var rows []struct {
		Server   `yaml:",inline"`
		Dialect  string
		Tokenize string
	}
	strict := yaml.NewDecoder(bytes.NewReader(serversYAML))
	strict.KnownFields(true)
	if err := strict.Decode(&rows); err != nil {
		panic(fmt.Errorf("wire: servers.yaml: %w", err))
	}
	routes := map[string]*tokenizers{
		"none": noTokens, "vllm": vllmTokens, "prompts": promptTokens, "tgi": tgiTokens,
		"llama": llamaTokens, "llama-cpp-python": llamaCppPythonTokens, "lmdeploy": lmdeployTokens,
	}
	for _, row := range rows {
		row.Server.Dialect, _ = Lookup(row.Dialect) // nil without one
		row.Server.Tokenize = routes[row.Tokenize]
		list = append(list, row.Server)
	}
	return list
}
