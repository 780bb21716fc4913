package inject

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// commands are the simple commands that a container is given, in words: one, or
// those of the script that it gives a shell.
func commands(c container) [][]string {
	words := slices.Concat(c.Command, c.Args)
	if len(words) == 0 {
		return nil
	}
	if !slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh"}, path.Base(words[0])) {
		return [][]string{words}
	}
	for i, word := range words {
		if flags, ok := strings.CutPrefix(word, "-"); ok && !strings.HasPrefix(flags, "-") && strings.Contains(flags, "c") && i+1 < len(words) {
			return script(words[i+1])
		}
	}
	return [][]string{words}
}

// shellToken is a piece of a shell script: an escape, a quotation, an expansion, a space, an end of a command, or else
// a character.
var shellToken = regexp.MustCompile("(?s)\\\\\r?\n|\\\\.|'[^']*'|\"(?:\\\\.|[^\"\\\\])*\"|" +
	"\\$\\((?:[^()]|\\((?:[^()]|\\([^()]*\\))*\\))*\\)|\\$\\{[^}]*\\}|`[^`]*`|[ \t\r]+|[\n;&|()]|.")

// shellEscape is an escape within double quotes.
var shellEscape = regexp.MustCompile(`(?s)\\(?:\r?\n|(.))`)

// script are the simple commands of a shell script, in words without their quotes. Nothing is expanded: $(…), ${…} and
// `…` are parts of the words that they stand in.
func script(text string) [][]string {
	all, open, comment := [][]string{nil}, false, false
	for _, token := range shellToken.FindAllString(text, -1) {
		last := &all[len(all)-1]
		switch first := token[0]; {
		case comment && token != "\n":
		case strings.Contains("\n;&|()", token):
			all, open, comment = append(all, nil), false, false
		case strings.Contains(" \t\r", token[:1]):
			open = false
		case first == '#' && !open:
			comment = true
		default:
			switch {
			case first == '\'' && len(token) > 1:
				token = token[1 : len(token)-1]
			case first == '"' && len(token) > 1:
				token = shellEscape.ReplaceAllString(token[1:len(token)-1], "$1")
			case first == '\\':
				if token = shellEscape.ReplaceAllString(token, "$1"); token == "" {
					continue
				}
			}
			if !open {
				*last, open = append(*last, ""), true
			}
			(*last)[len(*last)-1] += token
		}
	}
	return all
}

// dashed are args with flags that have dashes for underscores: vLLM and others
// take --api_key as --api-key.
func dashed(args []string) []string {
	same := make([]string, len(args))
	for i, arg := range args {
		same[i] = arg
		if name, value, given := strings.Cut(arg, "="); strings.HasPrefix(name, "--") {
			same[i] = strings.ReplaceAll(name, "_", "-")
			if given {
				same[i] += "=" + value
			}
		}
	}
	return same
}

// flagged is the value of the last of some flags among args: --port 8000 or
// --port=8000.
func flagged(args, names []string) (v string, ok bool) {
	for i, arg := range args {
		for _, name := range names {
			if rest, found := strings.CutPrefix(arg, name); found && strings.HasPrefix(rest, "=") {
				v, ok = rest[1:], true
			} else if arg == name && i+1 < len(args) {
				v, ok = args[i+1], true
			}
		}
	}
	return v, ok
}

// variable is the name of the variable that is all of a word: $(NAME) as
// Kubernetes expands it, ${NAME} or $NAME as a shell does.
func variable(word string) (name string, ok bool) {
	name, ok = strings.CutPrefix(word, "$")
	if !ok || name == "" {
		return "", false
	}
	switch name[0] {
	case '(':
		name, ok = strings.CutSuffix(name[1:], ")")
	case '{':
		name, ok = strings.CutSuffix(name[1:], "}")
		name, _, _ = strings.Cut(name, ":-")
	}
	return name, ok && name != ""
}
