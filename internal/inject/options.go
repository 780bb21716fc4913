package inject

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/llm-prober/prober/internal/config"
)

// maxManifests is how many bytes of manifests are read.
const maxManifests = 64 << 20

// imageName is where the image is published, without its tag.
const imageName = "ghcr.io/llm-prober/prober"

// ReleaseImage is the image of a release, or the latest one for a binary that is
// not a release.
func ReleaseImage(version string) string {
	if regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(version) {
		return imageName + ":" + strings.TrimPrefix(version, "v")
	}
	return imageName + ":latest"
}

// Parse completes o by flags that need to be read: variables as KEY=VALUE, and the
// key of a Secret as NAME/KEY or empty. It returns everything that is wrong with o.
func (o *Options) Parse(env []string, key string) (problems config.Problems) {
	if o.Port < 0 || o.Port > 65535 {
		problems = append(problems, config.Problem{Place: fmt.Sprintf("--port=%d", o.Port), Text: "no port", Hint: "want 1 to 65535"})
	}
	if o.Image == "" {
		problems = append(problems, config.Problem{Place: `--image=""`, Text: "no image", Hint: "give one, or leave --image out"})
	}
	for _, pair := range env {
		one, wrong := parseVariable(pair)
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

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseVariable is the variable of a KEY=VALUE, and what is wrong with it that the
// configuration does not find. A problem never contains its value.
func parseVariable(pair string) (e Env, wrong config.Problems) {
	name, value, ok := strings.Cut(pair, "=")
	place := "--env=" + name
	switch {
	case !ok || !variableName.MatchString(name):
		wrong = config.Problems{{Place: fmt.Sprintf("--env=%q", name), Text: "no variable", Hint: "want KEY=VALUE"}}
	case strings.HasSuffix(name, "_API_KEY"):
		wrong = config.Problems{{Place: place, Text: "a manifest is no place for a key", Hint: "want --api-key-secret NAME/KEY"}}
	case strings.HasSuffix(name, "_HEADERS"):
		wrong = config.Problems{{Place: place, Text: "a manifest is no place for headers, which hold keys", Hint: "patch the variable in with a secretKeyRef"}}
	case name == "PROBER_LISTEN_ADDRESS":
		wrong = config.Problems{{Place: place, Text: "a sidecar serves on port 9464 of its pod, where its preStop hook and Prometheus look for it", Hint: "leave it out"}}
	}
	return Env{Name: name, Value: value}, wrong
}

// FileWarnings says which variables name files, which the sidecar does not mount.
func (o *Options) FileWarnings() (warnings []string) {
	for _, e := range o.Env {
		if strings.HasPrefix(e.Name, "PROBER_") && strings.HasSuffix(e.Name, "_FILE") && e.Value != "" {
			warnings = append(warnings, fmt.Sprintf("--env=%s: the file must be in the image: the sidecar mounts none", e.Name))
		}
	}
	return warnings
}

// Configuration is that of a sidecar with the variables of o.Environ, or what the
// prober would refuse of them, or does not know: a sidecar that ends at its start takes
// the model server with it. Files are in the image, if anywhere, and are not read.
func Configuration(o config.Options) (*config.Config, []config.Problem) {
	o.ReadFile = func(string) ([]byte, error) { return []byte("{}"), nil }
	c, err := config.Load(o)
	if wrong, ok := errors.AsType[config.Problems](err); ok {
		return nil, wrong
	}
	if err != nil {
		return nil, []config.Problem{{Place: "the sidecar's variables", Text: err.Error(), Hint: "leave --env out"}}
	}
	var problems []config.Problem
	for _, variable := range c.Unknown {
		problems = append(problems, config.Problem{Place: "--env=" + variable, Text: "unknown variable", Hint: "see docs/configuration.md"})
	}
	return c, problems
}

// ReadManifests reads a file, at most 64 MiB of it, or stdin for -. problems is nil
// if it could.
func ReadManifests(file string, stdin io.Reader) (manifests []byte, problems config.Problems) {
	wrong := func(text, hint string) config.Problems {
		return config.Problems{{Place: fmt.Sprintf("--filename=%q", file), Text: text, Hint: hint}}
	}
	const hint = "give a file, or - for standard input"
	if file == "" {
		return nil, config.Problems{{Place: "--filename", Text: "nothing to read", Hint: hint}}
	}
	if file != "-" {
		f, err := os.Open(file) //nolint:gosec // the file that the user names
		if err != nil {
			return nil, wrong("cannot be opened: "+err.Error(), hint)
		}
		defer func() { _ = f.Close() }() // it was only read
		stdin = f
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxManifests+1))
	switch {
	case err != nil:
		return nil, wrong("cannot be read: "+err.Error(), hint)
	case len(data) > maxManifests:
		return nil, wrong("holds more than 64 MiB", "give fewer manifests at once")
	}
	return data, nil
}
