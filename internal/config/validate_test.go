package config

import (
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

const wantURL = "want http:// or https://, a host and perhaps a port and path, for example http://localhost:8000"

func TestProblemsOfTheEnvironment(t *testing.T) {
	const wantShard = "want number/shards, numbered from 0, for example 0/3, or with the name of a StatefulSet's pod prober-0/3"
	for _, test := range []struct{ name, environ, want string }{
		{"a number that is none", "QPS=1/s", `PROBER_QPS="1/s": not a number; want probes per second, for example 0.1`},
		{"a rate of 0", "QPS=0", `PROBER_QPS="0": must be above 0 and at most 1000; want probes per second, for example 0.1`},
		{"a rate that no number is", "QPS=NaN", `PROBER_QPS="NaN": must be above 0 and at most 1000; want probes per second, for example 0.1`},
		{"a rate above all bounds", "QPS=1e999", `PROBER_QPS="1e999": must be above 0 and at most 1000; want probes per second, for example 0.1`},
		{"tokens are whole", "MAX_TOKENS=1.5", `PROBER_MAX_TOKENS="1.5": not a whole number; want the length of an answer in tokens, for example 100`},
		{"no answer at all", "MAX_TOKENS=0", `PROBER_MAX_TOKENS="0": must be 1 to 100000; want the length of an answer in tokens, for example 100`},
		{"more tokens than a machine counts", "MAX_TOKENS=99999999999999999999",
			`PROBER_MAX_TOKENS="99999999999999999999": must be 1 to 100000; want the length of an answer in tokens, for example 100`},
		{"a negative budget", "TOKEN_BUDGET_PER_DAY=-1", `PROBER_TOKEN_BUDGET_PER_DAY="-1": must be 0 to 1000000000000; want tokens a day, or none`},
		{"a duration without unit", "TIMEOUT=120", `PROBER_TIMEOUT="120": has no unit; add a unit, for example 120s`},
		{"a duration that is none", "TIMEOUT=soon", `PROBER_TIMEOUT="soon": not a duration; want a duration with its unit, for example 120s`},
		{"a duration of 0", "TIMEOUT=0s", `PROBER_TIMEOUT="0s": must be above 0; want a duration with its unit, for example 120s`},
		{"a duration that would keep us busy", "RELOAD_INTERVAL=1ms", `PROBER_RELOAD_INTERVAL="1ms": must be at least 100ms; want a duration with its unit, for example 5s, or none`},
		{"an address with a port too high", "LISTEN_ADDRESS=:99999", `PROBER_LISTEN_ADDRESS=":99999": the port must be 0 to 65535; want host:port, for example :9464`},
		{"a shard of none", "SHARD=0/0", `PROBER_SHARD="0/0": must be of 1 to 1000 shards; ` + wantShard},
		{"a shard of too many", "SHARD=0/1001", `PROBER_SHARD="0/1001": must be of 1 to 1000 shards; ` + wantShard},
		{"a shard above the last", "SHARD=3/3", `PROBER_SHARD="3/3": the last of 3 shards is 2; ` + wantShard},
		{"a shard below the first", "SHARD=-1/3", `PROBER_SHARD="-1/3": not a shard; ` + wantShard},
		{"a pod without ordinal", "SHARD=prober-abc/3", `PROBER_SHARD="prober-abc/3": not a shard; ` + wantShard},
		{"an address where a name is to be looked up", "TARGETS_0_URL=dns+http://[::1]:80", `PROBER_TARGETS_0_URL="dns+http://[::1]:80": has an address where dns+ needs a name to look up; leave out dns+`},
		{"a service record", "TARGETS_0_URL=dnssrv+http://a", `PROBER_TARGETS_0_URL="dnssrv+http://a": not an http or https URL; ` + wantURL},
		{"a name without room for an address", "TARGETS_0_URL=dns+http://a\nTARGETS_0_NAME=" + strings.Repeat("n", 61),
			`PROBER_TARGETS_0_NAME="` + strings.Repeat("n", 61) + `": results in a name of more than 60 characters, to which addresses are added; set PROBER_TARGETS_0_NAME`},
		{"a name that an address gets", "TARGETS_0_URL=dns+http://a\nTARGETS_1_URL=http://b\nTARGETS_1_NAME=a:80/10.0.0.1",
			`PROBER_TARGETS_1_NAME="a:80/10.0.0.1": is the name that an address of PROBER_TARGETS_0_URL="dns+http://a" gets; set PROBER_TARGETS_1_NAME`},
		{"a switch between on and off", "GENAI_SEMCONV=maybe", `PROBER_GENAI_SEMCONV="maybe": neither on nor off; want on or off`},
		{"an unknown word", "ARRIVAL=poison", `PROBER_ARRIVAL="poison": unknown (did you mean "poisson"?); want constant, jittered or poisson`},
		{"a book without its file", "PROMPT=book\nTARGETS_1_URL=http://b", `PROBER_PROMPT="book": given without BOOK_FILE; want the file to ask from`},
		{"a data set without its file", "TARGETS_0_PROMPT=dataset", `PROBER_TARGETS_0_PROMPT="dataset": given without DATASET_FILE; want the file to ask from`},
		{"a book that is not there", "PROMPT=book\nBOOK_FILE=no", `PROBER_BOOK_FILE="no": no such file or directory`},
		{"a system prompt as long as the prompt", "PROMPT=sessions\nSYSTEM_TOKENS=21000",
			`PROBER_SYSTEM_TOKENS="21000": not below the 21000 tokens of the prompt; the system prompt is a part of the first prompt`},
		{"a history without end", "PROMPT=sessions\nMAX_TOKENS=1000\nSESSION_ROUNDS=981",
			`PROBER_SESSION_ROUNDS="981": results in a last prompt of more than 1001000 tokens; want fewer rounds or shorter answers: prompts have at most 1000000 tokens`},
		{"a priority that is none", "PRIORITY=high", `PROBER_PRIORITY="high": not a whole number; want a whole number, for example -10, or none`},
		{"a header with a space", "SESSION_HEADER=x user",
			`PROBER_SESSION_HEADER="x user": not a valid name of an HTTP header; want the name of a header, for example x-user-id`},
		{"an unknown server", "TARGETS_0_SERVER=vlm", `PROBER_TARGETS_0_SERVER="vlm": unknown (did you mean "vllm"?); want auto, ` + strings.Join(wire.Servers()[:len(wire.Servers())-1], ", ") + ` or vllm`},
		{
			"members of a group with different prompts",
			"TARGETS_0_GROUP=g\nTARGETS_1_URL=http://b\nTARGETS_1_GROUP=g\nBOOK_FILE=there\nDATASET_FILE=there\n" +
				"TARGETS_1_SESSION_USERS=1\nTARGETS_1_SESSION_ROUNDS=1\nTARGETS_1_SYSTEM_TOKENS=1\nTARGETS_1_BOOK_FILE=empty\nTARGETS_1_DATASET_FILE=empty\nTARGETS_1_CANARY_DEPTH=0",
			strings.Join([]string{
				`PROBER_TARGETS_1_BOOK_FILE="empty": target "b:80" differs from target "one:8000" of the same group "g": empty and there; members of a group need the same prompts at the same rate`,
				`PROBER_TARGETS_1_CANARY_DEPTH="0": target "b:80" differs from target "one:8000" of the same group "g": 0 and 0.5; members of a group need the same prompts at the same rate`,
				`PROBER_TARGETS_1_DATASET_FILE="empty": target "b:80" differs from target "one:8000" of the same group "g": empty and there; members of a group need the same prompts at the same rate`,
				`PROBER_TARGETS_1_SESSION_ROUNDS="1": target "b:80" differs from target "one:8000" of the same group "g": 1 and 20; members of a group need the same prompts at the same rate`,
				`PROBER_TARGETS_1_SESSION_USERS="1": target "b:80" differs from target "one:8000" of the same group "g": 1 and 15; members of a group need the same prompts at the same rate`,
				`PROBER_TARGETS_1_SYSTEM_TOKENS="1": target "b:80" differs from target "one:8000" of the same group "g": 1 and 1000; members of a group need the same prompts at the same rate`,
			}, "\n"),
		},
		{"a canary without room", "PROMPT=canary\nPROMPT_TOKENS=79\nMAX_TOKENS=15",
			`PROBER_MAX_TOKENS="15": too few for the prompt canary; want at least 16` + "\n" + `PROBER_PROMPT_TOKENS="79": too few for the prompt canary; want at least 80`},
		{"a percentage where a rate is wanted", "QPS=10%", `PROBER_QPS="10%": not a number; want probes per second, for example 0.1`},
		{"an address without port", "LISTEN_ADDRESS=localhost", `PROBER_LISTEN_ADDRESS="localhost": not an address; want host:port, for example :9464`},
		{"text that does not print", "TARGETS_0_MODEL=a\x00b", `PROBER_TARGETS_0_MODEL="a\x00b": has unprintable characters`},

		{"a misspelt variable of a target", "TARGETS_0_MODLE=m", `PROBER_TARGETS_0_MODLE: unknown variable (did you mean PROBER_TARGETS_0_MODEL?)`},
		{"a variable of a target without its number", "MODEL=m", `PROBER_MODEL: unknown variable (did you mean PROBER_TARGETS_0_MODEL?)`},
		{"an index in another spelling", "TARGETS_00_NAME=m", `PROBER_TARGETS_00_NAME: not an entry of the list; number entries from 0 without a gap`},
		{"an unknown variable of a target", "TARGETS_0_COLOUR=red", `PROBER_TARGETS_0_COLOUR: unknown variable`},

		{"a gap in the indices", "TARGETS_2_URL=http://b", `PROBER_TARGETS_2_URL: not an entry of the list; number entries from 0 without a gap`},
		{"a target without URL", "TARGETS_1_NAME=b", `PROBER_TARGETS_1_URL: not given; ` + wantURL},
		{"a URL without scheme", "TARGETS_1_URL=llm.example.com:8000",
			`PROBER_TARGETS_1_URL="llm.example.com:8000": has no scheme, and only loopback and private names get http://; write https:// or http:// before it`},
		{"a path that is none", "TARGETS_0_PATH=chat", `PROBER_TARGETS_0_PATH="chat": not the path of a URL; want a path from the host's root on, without query, for example /v1/chat/completions`},
		{"a URL without host", "TARGETS_1_URL=http://:8000", `PROBER_TARGETS_1_URL="http://:8000": not an http or https URL; ` + wantURL},
		{"a URL with a port too high", "TARGETS_1_URL=http://a:70000", `PROBER_TARGETS_1_URL="http://a:70000": the port must be 1 to 65535; ` + wantURL},
		{"a URL with a password", "TARGETS_1_URL=http://me:secret@host",
			`PROBER_TARGETS_1_URL="http://***": has credentials in it; give a key as API_KEY or API_KEY_FILE, other credentials as HEADERS`},
		{"a URL with a query", "TARGETS_1_URL=http://host?key=secret", `PROBER_TARGETS_1_URL="http://***": has a query or a fragment; ` + wantURL},
		{"two targets on one server", "TARGETS_1_URL=http://one:8000/v1/",
			`PROBER_TARGETS_1_URL="http://one:8000/v1/": the name "one:8000" is already taken by PROBER_TARGETS_0_URL="http://one:8000"; set PROBER_TARGETS_1_NAME`},
		{"a name that another target got from its URL", "TARGETS_1_URL=http://b\nTARGETS_1_NAME=one:8000",
			`PROBER_TARGETS_1_NAME="one:8000": the name "one:8000" is already taken by PROBER_TARGETS_0_URL="http://one:8000"; set PROBER_TARGETS_1_NAME`},
		{"a name of 101 characters", "TARGETS_0_NAME=" + strings.Repeat("ä", 101),
			`PROBER_TARGETS_0_NAME="` + strings.Repeat("ä", 79) + `…": has 101 characters; want 1 to 100 printable characters`},
		{"a host that makes too long a name", "TARGETS_1_URL=http://" + strings.Repeat("a", 100),
			`PROBER_TARGETS_1_URL="http://` + strings.Repeat("a", 72) + `…": results in a name of more than 100 characters; set PROBER_TARGETS_1_NAME`},
		{"a stall timeout above the timeout", "TARGETS_0_STALL_TIMEOUT=3m",
			`PROBER_TARGETS_0_STALL_TIMEOUT="3m": longer than the timeout of 120s; want at most the timeout`},
		{"a certificate without key", "TARGETS_0_CERT_FILE=there", `PROBER_TARGETS_0_CERT_FILE="there": given without KEY_FILE; want both or none`},
		{"a certificate's key alone", "TARGETS_0_KEY_FILE=there", `PROBER_TARGETS_0_KEY_FILE="there": given without CERT_FILE; want both or none`},
		{"a key and its file", "API_KEY=sk\nAPI_KEY_FILE=there", `PROBER_API_KEY_FILE="there": given together with a key; want one of the two`},
		{"a key file that is not there", "API_KEY_FILE=no", `PROBER_API_KEY_FILE="no": no such file or directory`},
		{"a key file with nothing in it", "API_KEY_FILE=empty", `PROBER_API_KEY_FILE="empty": is empty; want a file with the key in it`},
		{"a key file that holds no key", "API_KEY_FILE=long", `PROBER_API_KEY_FILE="long": has 20000 bytes, more than any server takes in a header; want a file with the key on its only line`},
		{"a key file with two lines", "API_KEY_FILE=lines", `PROBER_API_KEY_FILE="lines": has unprintable characters; want a file with the key on its only line`},
		{"a key that no header can hold", "API_KEY=sk\nsecret\x7f", "PROBER_API_KEY: has unprintable characters"},
		{"headers without names", "TARGETS_0_HEADERS=Bearer secret",
			`PROBER_TARGETS_0_HEADERS: entry 1 has no =; want NAME=value,NAME=value (a value with a comma in it goes into the targets file)`},
		{"a header with a name that is none", "TARGETS_0_HEADERS=X-A=1,Bearer secret=2",
			`PROBER_TARGETS_0_HEADERS: entry 2 has a name that no HTTP header can have; want NAME=value,NAME=value (a value with a comma in it goes into the targets file)`},
		{"a header of ours", "TARGETS_0_HEADERS=X-A=1,user-agent=2",
			`PROBER_TARGETS_0_HEADERS: entry 2 names a header that the prober sets itself; want NAME=value,NAME=value (a value with a comma in it goes into the targets file)`},
		{"a header twice", "TARGETS_0_HEADERS=X-A=1,x-a=2",
			`PROBER_TARGETS_0_HEADERS: entry 2 repeats a header; want NAME=value,NAME=value (a value with a comma in it goes into the targets file)`},
		{
			"members of a group with different lengths",
			"TARGETS_0_GROUP=g\nTARGETS_1_URL=http://b\nTARGETS_1_GROUP=g\nTARGETS_1_MAX_TOKENS=5",
			`PROBER_TARGETS_1_MAX_TOKENS="5": target "b:80" differs from target "one:8000" of the same group "g": 5 and 100; members of a group need the same prompts at the same rate`,
		},
		{"a wrong value is reported once, not for what follows from it", "TIMEOUT=x", `PROBER_TIMEOUT="x": not a duration; want a duration with its unit, for example 120s`},
	} {
		t.Run(test.name, func(t *testing.T) {
			environment := withTarget(strings.ReplaceAll(test.environ, "sk\nsecret", "sk\x00secret"))
			content := files(map[string]string{"there": "sk", "empty": "\n", "lines": "secret\nsecret\n", "blank": " \n", "long": strings.Repeat("s", 20_000)})
			problems(t, Options{Environ: environment, ReadFile: content}, test.want)
		})
	}
}

func TestProblemsOfFlagsAndArguments(t *testing.T) {
	for _, test := range []struct {
		name      string
		overrides map[string]string
		urls      []string
		want      string
	}{
		{"a wrong value names the flag", map[string]string{"MAX_IN_FLIGHT": "many"}, []string{"http://a"}, `--max-in-flight="many": not a whole number; want a number of probes, for example 1`},
		{"one name for two targets", map[string]string{"NAME": "x"}, []string{"http://a", "http://b"}, `--name="x": the name "x" is already taken by --name="x"; give it as NAME=URL`},
		{"one URL twice", nil, []string{"http://a", "http://a"},
			`URL argument 2="http://a": the name "a:80" is already taken by URL argument 1="http://a"; give it as NAME=URL`},
		{"arguments that only look like a name and a URL", nil, []string{"=http://one", "x=nonsense"},
			`URL argument 1="=http://one": not an http or https URL; ` + wantURL + "\n" + `URL argument 2="nonsense": not an http or https URL; ` + wantURL},
		{"a certificate without key", map[string]string{"CERT_FILE": "there"}, []string{"https://a"}, `--cert-file="there": given without KEY_FILE; want both or none`},
	} {
		t.Run(test.name, func(t *testing.T) {
			problems(t, Options{Overrides: test.overrides, URLs: test.urls, ReadFile: files(map[string]string{"there": ""})}, test.want)
		})
	}
}
