package wire

import "strings"

// openAIPrefix stands before the paths of some servers: Azure and KServe. Users may give it in the base URL or not.
const openAIPrefix = "/openai"

// URL joins a base URL, as users give it to clients, and the path of a dialect. It follows OpenAI's clients: a base
// that has a path of its own replaces "/v1", and only a base without a path, or with KServe's "/openai", may lack
// "/v1". Anthropic's clients add "/v1" to every base.
func URL(base, path string) string {
	root, hasV1 := strings.CutSuffix(strings.TrimRight(base, "/"), "/v1")
	deployment, isDeployment := strings.CutPrefix(path, openAIPrefix+"/deployments/")
	switch {
	case isDeployment && strings.Contains(root, openAIPrefix+"/deployments/"): // the base names the deployment already
		_, endpoint, _ := strings.Cut(deployment, "/")
		return root + "/" + endpoint
	case strings.HasPrefix(path, openAIPrefix+"/"):
		return strings.TrimSuffix(root, openAIPrefix) + path
	case hasV1, strings.HasPrefix(path, "/v1/messages"):
		return root + path
	}
	_, place, _ := strings.Cut(root, "://")
	_, ownPath, _ := strings.Cut(place, "/")
	if ownPath == "" || "/"+ownPath == openAIPrefix {
		return root + path
	}
	return root + strings.TrimPrefix(path, "/v1")
}

// PathOnHost returns the URL of a path that a user set, on the host of a base URL. It keeps the query of the dialect's
// own path, such as Azure's api-version.
func PathOnHost(base, path, dialectPath string) string {
	scheme, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	_, query, hasQuery := strings.Cut(dialectPath, "?")
	if hasQuery {
		path += "?" + query
	}
	return scheme + "://" + host + path
}
