package inject

import (
	"path"
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

// script are the simple commands of a shell script, in words without their
// quotes. Nothing is expanded: $(…), ${…} and `…` are parts of the words that they
// stand in.
func script(text string) [][]string {
	var all [][]string
	var words []string
	var word strings.Builder
	quote, quoted := byte(0), false
	end := func() {
		if word.Len() > 0 || quoted {
			words = append(words, word.String())
		}
		word.Reset()
		quoted = false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text):
			i++
			if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
			if text[i] != '\n' {
				word.WriteByte(text[i])
			}
		case quote != '\'' && (c == '$' || c == '`') && expanded(text[i:]) > 0:
			n := expanded(text[i:])
			word.WriteString(text[i : i+n])
			i += n - 1
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, quoted = c, true
		case c == '#' && word.Len() == 0 && !quoted:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == ' ' || c == '\t' || c == '\r':
			end()
		case strings.IndexByte("\n;&|()", c) >= 0:
			end()
			all, words = append(all, words), nil
		default:
			word.WriteByte(c)
		}
	}
	end()
	return append(all, words)
}

// expanded is the length of what text begins with if a shell puts something else
// in its place that may hold spaces: $(…), ${…} or `…`, which is all of text if it
// has no end. It is 0 if text begins with nothing of this kind.
func expanded(text string) int {
	if text[0] == '`' {
		if n := strings.IndexByte(text[1:], '`'); n >= 0 {
			return 1 + n + 1
		}
		return len(text)
	}
	if len(text) < 2 || text[0] != '$' || text[1] != '(' && text[1] != '{' {
		return 0
	}
	begin, end, depth := text[1], byte(')'), 0
	if begin == '{' {
		end = '}'
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case begin:
			depth++
		case end:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
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
