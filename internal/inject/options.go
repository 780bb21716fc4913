package inject

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/llm-prober/prober/internal/config"
)

// ReleaseImage is the image of a release, or the latest one for a binary that is not a release.
func ReleaseImage(version string) string {
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(version) {
		version = "latest"
	}
	return "ghcr.io/llm-prober/prober:" + strings.TrimPrefix(version, "v")
}

// Parse completes o by flags that need to be read: variables as KEY=VALUE, and the key of a Secret as NAME/KEY or
// empty. It returns everything that is wrong with o.
func (o *Options) Parse(env []string, key string) (problems config.Problems) {
	refuse := func(place, text, hint string) {
		problems = append(problems, config.Problem{Place: place, Text: text, Hint: hint})
	}
	if o.Port < 0 || o.Port > 65535 {
		refuse(fmt.Sprintf("--port=%d", o.Port), "no port", "want 1 to 65535")
	}
	if o.Image == "" {
		refuse(`--image=""`, "no image", "give one, or leave --image out")
	}
	for _, pair := range env {
		name, value, ok := strings.Cut(pair, "=")
		o.Env = append(o.Env, Env{Name: name, Value: value})
		switch place := "--env=" + name; {
		case !ok || !variableName.MatchString(name):
			refuse(fmt.Sprintf("--env=%q", name), "no variable", "want KEY=VALUE")
		case strings.HasSuffix(name, "_API_KEY"), strings.HasSuffix(name, "_HEADERS"):
			refuse(place, "a manifest is no place for keys", "want --api-key-secret NAME/KEY, or a patch with a secretKeyRef")
		case name == "PROBER_LISTEN_ADDRESS":
			refuse(place, "a sidecar serves on port 9464 of its pod, where its preStop hook and Prometheus look for it", "leave it out")
		}
	}
	if parts := strings.Split(key, "/"); len(parts) == 2 && parts[0] != "" && parts[1] != "" {
		// A Secret that is not there would keep the pod from starting: refused probes say so as well.
		o.Key = map[string]any{"secretKeyRef": map[string]any{"name": parts[0], "key": parts[1], "optional": true}}
	} else if key != "" {
		refuse(fmt.Sprintf("--api-key-secret=%q", key), "not a key of a Secret", "want NAME/KEY")
	}
	return problems
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// configuration is that of a sidecar with some variables, or what the prober would refuse of them, or does not know: a
// sidecar that ends at its start takes the model server with it. Files are in the image, if anywhere, and are not read.
func configuration(env []Env) (*config.Config, config.Problems) {
	environ := map[string]string{}
	for _, e := range env {
		if environ[e.Name] = e.Value; e.ValueFrom != nil {
			environ[e.Name] = "from-a-secret"
		}
	}
	c, err := config.Load(config.Options{Environ: environ, ReadFile: func(string) ([]byte, error) { return []byte("{}"), nil }})
	problems, refused := errors.AsType[config.Problems](err)
	for i := 0; !refused && i < len(c.Unknown); i++ {
		problems = append(problems, config.Problem{Place: "--env=" + c.Unknown[i], Text: "unknown variable", Hint: "see docs/configuration.md"})
	}
	return c, problems
}

// ReadManifests reads a file, at most 64 MiB of it, or stdin for -. problems is nil if it could.
func ReadManifests(file string, stdin io.Reader) (manifests []byte, problems config.Problems) {
	const most = 64 << 20 // bytes, as of [config.ReadFile]
	var err error
	if file != "-" {
		manifests, err = config.ReadFile(file)
	} else if manifests, err = io.ReadAll(io.LimitReader(stdin, most+1)); len(manifests) > most {
		err = errors.New("has more than 64 MiB")
	}
	if err != nil {
		place := fmt.Sprintf("--filename=%q", file)
		return nil, config.Problems{{Place: place, Text: "cannot be read: " + err.Error(), Hint: "give a file, or - for standard input"}}
	}
	return manifests, nil
}
