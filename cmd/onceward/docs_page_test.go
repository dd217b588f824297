package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// docBlock is a fenced block of a page of the documentation.
type docBlock struct {
	page, heading string
	line          int    // of its first line
	lang          string // as the fence names it
	mark          string // what stands behind the language
	text          string
	shows         *string // what the page shows as printed by the commands of the block; nil: nothing
}

var (
	docFence   = regexp.MustCompile("^(\\s*)```(\\S*)\\s*(.*)$")
	docHeading = regexp.MustCompile(`^#{1,6} (.*)$`)
	docNoRun   = regexp.MustCompile(`^no-run="([^"]*)"$`)
)

// readBlocks reads the fenced blocks of a page. A block of text directly behind
// one of commands, with at most words between them, is what those print.
func readBlocks(t testing.TB, name string) (all []docBlock) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	heading, lines := "", strings.Split(string(data), "\n")
	for i := 0; i < len(lines); i++ {
		if m := docHeading.FindStringSubmatch(lines[i]); m != nil {
			heading = m[1]
		}
		m := docFence.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		b := docBlock{page: strings.TrimPrefix(name, "../../"), heading: heading, line: i + 1, lang: m[2], mark: m[3]}
		var text strings.Builder
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
			text.WriteString(strings.TrimPrefix(lines[i], m[1]) + "\n")
		}
		if i == len(lines) {
			t.Fatalf("%s:%d: the block does not end", b.page, b.line)
		}
		b.text = text.String()
		if n := len(all); b.lang == "text" && n > 0 && all[n-1].lang == "sh" && all[n-1].heading == heading {
			all[n-1].shows = &b.text
		}
		all = append(all, b)
	}
	return all
}

// noRun is why the commands of a block are not run here; empty: they are.
func (b *docBlock) noRun() string {
	if m := docNoRun.FindStringSubmatch(b.mark); m != nil {
		return m[1]
	}
	return ""
}

// commands are the commands of a block: a line each, unless it goes on behind a
// backslash, inside of quotes, or as a here-document.
func (b *docBlock) commands() (all []string) {
	command, until := "", ""
	for line := range strings.Lines(b.text) {
		line = strings.TrimSuffix(line, "\n")
		command += line
		switch {
		case until != "":
			if line != until {
				command += "\n"
				continue
			}
			until = ""
		case strings.HasSuffix(line, `\`):
			command = strings.TrimSuffix(command, `\`)
			continue
		case strings.Count(command, "'")%2 == 1:
			command += "\n"
			continue
		default:
			if m := docHere.FindStringSubmatch(line); m != nil {
				until = m[1]
				command += "\n"
				continue
			}
		}
		if command = strings.TrimSpace(withoutRemark(command)); command != "" {
			all = append(all, command)
		}
		command = ""
	}
	return all
}

// tooEarly is the first command behind one that starts a server, in one block,
// but for those that start another one or set a variable; empty: there is none.
// Whoever pastes the block would have it asked before it listens.
func (b *docBlock) tooEarly() string {
	started := false
	for _, command := range b.commands() {
		switch {
		case b.lang != "sh":
		case strings.HasSuffix(command, "&"):
			started = true
		case started && !strings.HasPrefix(command, "export "):
			return command
		}
	}
	return ""
}

var docHere = regexp.MustCompile(`<<'?(\w+)'?$`)

// withoutRemark takes a remark off the end of a command that is one line, but
// for the one that says how it exits.
func withoutRemark(command string) string {
	at := strings.LastIndex(" "+command, " # ")
	if at < 0 || strings.Contains(command, "\n") || guideExit.MatchString(command) ||
		strings.Count(command[:at], "'")%2 == 1 || strings.Count(command[:at], `"`)%2 == 1 {
		return command
	}
	return command[:at]
}

// differs says where what was printed is not what the page shows, which may leave
// out lines, and write … for what differs from run to run; empty: nowhere.
func differs(shown, printed string) string {
	lines := strings.Split(printed, "\n")
	for want := range strings.Lines(shown) {
		want = strings.Join(strings.Fields(want), " ")
		if want == "" || want == "…" {
			continue
		}
		parts := strings.Split(want, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
		for ; len(lines) > 0 && !pattern.MatchString(strings.Join(strings.Fields(lines[0]), " ")); lines = lines[1:] {
		}
		if len(lines) == 0 {
			return want
		}
		lines = lines[1:]
	}
	return ""
}
