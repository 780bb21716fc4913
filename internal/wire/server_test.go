package wire

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// A recognition is a row of recognized.yaml.
type recognition struct {
	Case    string
	Type    string            // the server type; none if it is not known
	Entry   string            // members of the only model in the list
	Models  string            // the reply to the list of models, instead of Entry
	Header  map[string]string // of that reply
	Replies map[string]string // to other paths
	Host    string
	Prefix  string
	Refused bool
	Answer  bool
}

// evidence returns what the server says.
func (r recognition) evidence() Evidence {
	e := Evidence{
		Answer: r.Answer, Header: map[string][]string{}, Models: []byte(r.Models), Refused: r.Refused,
		Prefix: r.Prefix, Host: r.Host,
		Get: func(path string) []byte { return []byte(r.Replies[path]) },
	}
	if r.Entry != "" {
		e.Models = []byte(`{"object":"list","data":[{` + r.Entry + `}]}`)
	}
	for name, value := range r.Header {
		e.Header[name] = []string{value}
	}
	return e
}

// TestRecognize holds by what server types are recognized, and by what none is. TestEveryServerOverHTTP of package probe
// has each of them.
func TestRecognize(t *testing.T) {
	file, err := os.ReadFile("testdata/recognized.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows []recognition
	strict := yaml.NewDecoder(bytes.NewReader(file))
	strict.KnownFields(true)
	err = strict.Decode(&rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		s, ok := Recognize(row.evidence())
		got := "none"
		if ok {
			got = s.Name
		}
		if got != row.Type {
			t.Errorf("%s: recognized %s, want %s", row.Case, got, row.Type)
		}
	}
}

// TestServersNameFieldsThatAreSent holds that servers.yaml omits and renames only fields that some dialect sends.
func TestServersNameFieldsThatAreSent(t *testing.T) {
	var sent []Field
	for _, d := range dialects {
		sent = append(sent, d.Fields...)
	}
	for _, s := range servers {
		for _, f := range s.Omit {
			if !slices.Contains(sent, f) {
				t.Errorf("%s omits %s, which no dialect sends", s.Name, f)
			}
		}
		for f := range s.Keys {
			if !slices.Contains(sent, f) || slices.Contains(s.Omit, f) {
				t.Errorf("%s renames %s, which it is not sent", s.Name, f)
			}
		}
	}
}

func TestLookupServer(t *testing.T) {
	_, err := LookupServer("vlm")
	if err == nil || !strings.Contains(err.Error(), "vllm") {
		t.Errorf("error %v does not list the known names", err)
	}
}

// TestClaimOfAnUnknownServer holds that nothing is claimed of it; claims of known types are in docs/servers.md.
func TestClaimOfAnUnknownServer(t *testing.T) {
	if got := (Server{}).Claim(FieldCacheSalt); got != Unknown {
		t.Errorf("claims %s, want %s", got, Unknown)
	}
}

// TestAMistakeInTheTableIsAnError holds that a server with a mistake is not asked by openai-chat instead.
func TestAMistakeInTheTableIsAnError(t *testing.T) {
	for file, want := range map[string]string{
		"- {name: x, dialect: openai-chats, tokenize: none}":                 "openai-chats",
		"- {name: x, tokenize: vlm}":                                         `unknown tokenizer "vlm"`,
		"- {name: x}":                                                        `unknown tokenizer ""`,
		"- {name: x, tokenize: none, schema_in: text}":                       `unknown place of a schema "text"`,
		"- {name: x, tokenize: none, signatures: [[]]}":                      "without a matcher",
		"- {name: x, tokenize: none, omits: [seed]}":                         "omits",
		"- {name: x, tokenize: none, signatures: [[{kind: ownr, word: x}]]}": `unknown kind of matcher "ownr"`,
		"- {name: x, tokenize: none, signatures: [[{kind: header}]]}":        "header needs a key",
		"- {name: x, tokenize: none, signatures: [[{kind: owner}]]}":         "owner needs a word",
	} {
		if list, err := parseServers([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, error %v, want %s", file, list, err, want)
		}
	}
	list, err := parseServers([]byte("- {name: x, dialect: tgi, tokenize: none}"))
	if err != nil || list[0].Dialect != tgi {
		t.Errorf("%+v, error %v", list, err)
	}
}
