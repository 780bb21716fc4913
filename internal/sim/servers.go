package sim

import (
	"bytes"
	"embed"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"
)

// files are the servers that can be simulated, one a file: see servers/README.md. They are only read.
//
//go:embed servers/*.yaml servers/openai/*.yaml
var files embed.FS

const (
	openAI        = "openai" // the API that has server types
	defaultServer = "vllm"
)

// APIs lists the names of the APIs that a server can speak, in a stable order. The slice is the caller's.
func APIs() []string {
	return []string{
		openAI, "tgi", "sglang", "triton", "llama-server", "ollama", "anthropic", "openai-responses", "azure-openai",
	}
}

// ServerTypes are the names of the servers that the API "openai" can be, in a stable order. The slice is the caller's.
func ServerTypes() []string {
	return []string{
		defaultServer, "production-stack", "ray-serve", "tgi", "sglang", "trtllm", "lmdeploy", "llama-server",
		"kserve", "nim", "dynamo", "openrouter", "litellm", "openai",
	}
}

// load reads the file of a server, over that of its base.
func load(name string) (t serverType) {
	data, err := files.ReadFile("servers/" + name + ".yaml")
	if err != nil {
		panic(err)
	}
	if decode(name, data, &t); t.Base != "" {
		base := t.Base
		t = load(base)
		decode(name, data, &t)
	}
	return t
}

// decode reads a file of ours. What is wrong in one is a mistake of ours, which every test finds.
func decode(name string, data []byte, into any) {
	strict := yaml.NewDecoder(bytes.NewReader(data))
	strict.KnownFields(true)
	if err := strict.Decode(into); err != nil {
		panic(fmt.Errorf("sim: %s: %w", name, err))
	}
}

// serverType is all in which one server differs from others. Texts with a $ in them are templates: see placeholders.
type serverType struct {
	Base        string            `yaml:"base"`         // the file from which everything is taken that this one does not say
	BodyLimit   int64             `yaml:"body_limit"`   // bytes; 0: 64 MB
	Prefixes    []string          `yaml:"prefixes"`     // of paths that do not begin with a slash
	KeyHeader   string            `yaml:"key_header"`   // may hold the key alone, besides Authorization
	NeedsHeader string            `yaml:"needs_header"` // requests without it are refused
	NeedsQuery  string            `yaml:"needs_query"`  // a parameter without which there is no route that generates
	Headers     map[string]string `yaml:"headers"`      // of every response
	Generate    []generation      `yaml:"generate"`
	Routes      map[string]*route `yaml:"routes"` // by method and path; null: not there, although in the base
	Errors      errorFormat       `yaml:"errors"`
}

type generation struct {
	Paths   []string      `yaml:"paths"` // for POST
	Request requestFormat `yaml:"request"`
	Answer  answerFormat  `yaml:"answer"`
}

// requestFormat is where a request says what. Fields are given by their paths: dots lead inside.
type requestFormat struct {
	promptFields `yaml:",inline"`

	Max        []string            `yaml:"max"`         // most tokens to generate: the first that is there
	MaxDefault int                 `yaml:"max_default"` // without one; 0: what fits
	MaxLeast   int                 `yaml:"max_least"`   // less is refused; 0: 1
	Min        []string            `yaml:"min"`         // tokens before a natural end
	Salt       []string            `yaml:"salt"`        // key the prefix cache
	Thinking   string              `yaml:"thinking"`    // Anthropic's object of that name
	Flags      map[string][]string `yaml:"flags"`       // see fields.flag; some mean something to the code, all to templates

	AnyModel bool              `yaml:"any_model"` // whatever name is given will do
	Required []string          `yaml:"required"`
	Known    []string          `yaml:"known"`    // all others are refused; empty: none is
	Replaced map[string]string `yaml:"replaced"` // refused, and what is to be sent instead
	NoClamp  bool              `yaml:"no_clamp"` // an answer that does not fit is refused, not shortened
	Replays  bool              `yaml:"replays"`  // the same body twice is answered from a cache, unless it is "fresh"
}

type promptFields struct {
	IDs      []string `yaml:"ids"`      // token ids, in place of all else
	Messages []string `yaml:"messages"` // texts and messages for the chat template
	Text     []string `yaml:"text"`     // a text, or token ids
	NoIDs    bool     `yaml:"no_ids"`   // token ids in place of a text are refused
	Begin    []string `yaml:"begin"`    // flag: a text stands behind a beginning of sequence; empty: it always does
}

// answerFormat is how an answer is sent. A chunk is a frame; what the others hold goes into its $choice.
type answerFormat struct {
	ContentType  string            `yaml:"content_type"` // empty: SSE's
	LateHeaders  bool              `yaml:"late_headers"` // they come with the first frame
	Headers      map[string]string `yaml:"headers"`
	Every        time.Duration     `yaml:"every"`         // frames are released so often, the first at once; 0: each when it is due
	SingleToken  bool              `yaml:"single_token"`  // a frame has one token, always
	SkipEmpty    bool              `yaml:"skip_empty"`    // no frame for tokens without text
	HidesAll     bool              `yaml:"hides_all"`     // reasoning is in no frame, whatever the configuration says
	EndUncounted bool              `yaml:"end_uncounted"` // the end-of-sequence token is not counted

	ID     string            `yaml:"id"`
	Finish map[string]string `yaml:"finish"` // names of the reasons "stop" and "length"
	Parts  map[string]part   `yaml:"parts"`  // placeholders of its own

	Chunk   string `yaml:"chunk"`
	Prelude string `yaml:"prelude"` // sent with acceptance, no chunk around it
	Role    string `yaml:"role"`    // of the frame before the first token
	First   string `yaml:"first"`   // of the first token frame; empty: token
	Token   string `yaml:"token"`
	Last    string `yaml:"last"`    // of the last token frame; empty: token
	Final   string `yaml:"final"`   // of the frame behind the last token, in the same write
	Delta   string `yaml:"delta"`   // $delta of the answer proper
	Thought string `yaml:"thought"` // $delta of reasoning; empty: there is none
	Switch  string `yaml:"switch"`  // sent between reasoning that was shown and the answer

	Usage       string `yaml:"usage"`         // the whole count
	Running     string `yaml:"running"`       // the count so far, with the flag "continuous"
	NoUsage     string `yaml:"no_usage"`      // in place of a count where there is none
	NoUsageWhen string `yaml:"no_usage_when"` // only with this flag; empty: always
	UsageIn     string `yaml:"usage_in"`      // "" a frame of its own if asked for, "always" one, "final" the last frame

	Closing string `yaml:"closing"` // behind all frames
	Failure string `yaml:"failure"` // an error inside the stream, to its end
	Cuts    bool   `yaml:"cuts"`    // an error inside the stream cuts the connection
	Comment string `yaml:"comment"` // keeps the connection awake
	Waiting string `yaml:"waiting"` // comment at acceptance and every second until the first token
}

// part is a placeholder that a file defines.
type part struct {
	When string `yaml:"when"` // flag, see encoder.on; a ! before it negates
	Is   string `yaml:"is"`
	Else string `yaml:"else"`
}

// route is a path with a fixed answer, or one that counts the tokens of a prompt.
type route struct {
	Open  bool          `yaml:"open"` // it wants no key
	Type  string        `yaml:"type"` // of the body; empty: JSON
	Body  string        `yaml:"body"`
	Count *promptFields `yaml:"count"`
}

type errorFormat struct {
	Body      string         `yaml:"body"`
	NotFound  string         `yaml:"not_found"` // where there is no such path; empty: body
	InStream  string         `yaml:"in_stream"` // where a stream was asked for: a stream of status 200; empty: body
	TooLong   string         `yaml:"too_long"`  // for a prompt that does not fit; empty: body
	TooLongAs int            `yaml:"too_long_as"`
	Statuses  map[int]int    `yaml:"statuses"` // that are others here
	Types     map[int]string `yaml:"types"`    // by status, or by its hundreds
	Codes     map[int]string `yaml:"codes"`    // the same for $name
}
