package console

import (
	"fmt"
	"strings"
)

// words are every text of the console by its key, read from english.txt: a line
// is "key: text". Blank lines and lines that begin with # mean nothing.
var words = func() map[string]string {
	text, err := files.ReadFile("english.txt")
	if err != nil {
		panic(err) // it is embedded
	}
	all := map[string]string{}
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if _, twice := all[key]; !ok || twice {
			panic(fmt.Sprintf("english.txt, line %d: no text, or its key is there twice", n+1))
		}
		all[key] = value
	}
	return all
}()

// word is the text of a key, filled in as fmt does.
func word(key string, args ...any) string {
	text, ok := words[key]
	if !ok {
		panic("english.txt has no text for " + key)
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// known is word for a key that comes from elsewhere.
func known(key string) (string, bool) {
	text, ok := words[key]
	return text, ok
}

// wordOr is the text of a key, or else the name itself: for names that a newer
// ledger may have.
func wordOr(prefix, name string) string {
	if name == "" {
		return ""
	}
	if text, ok := words[prefix+name]; ok {
		return text
	}
	return strings.ReplaceAll(name, "_", " ")
}

// counted is a number with its noun: the key has the singular and the plural,
// parted by a bar.
func counted(key string, n int) string {
	one, many, _ := strings.Cut(word(key), "|")
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}
