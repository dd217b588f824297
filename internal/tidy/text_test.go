package tidy

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// forbidden is a pattern that no tracked text has.
type forbidden struct {
	pattern *regexp.Regexp
	why     string
}

// Why the words are put together: this file is searched too.
var forbiddenTexts = []forbidden{
	{
		regexp.MustCompile("(?:^|[\\s\"'`(=:,;<>\\[])(?:file://)?/(?:" + "work|root|home)/"),
		"a path of somebody's machine",
	},
	{
		regexp.MustCompile(`\b(?:` + "proxy" + `\.golang\.org|` + "sum" + `\.golang\.org|` + "registry" + `\.npmjs\.org|` + "deb" + `\.debian\.org)\b`),
		"the host of a package registry",
	},
	{
		regexp.MustCompile(`\b(?:` + "TO" + "DO|" + "FIX" + `ME)\b`),
		"unfinished work; finish it, or name it in docs/rough-edges.md",
	},
}

// unsearched are files whose text others write.
var unsearched = map[string]bool{"go.sum": true, "package-lock.json": true}

var forbiddenText = rule{
	check: func(files tree) []string {
		var complaints []string
		for _, name := range files.names() {
			if unsearched[path.Base(name)] {
				continue
			}
			for i, line := range strings.Split(files[name], "\n") {
				for _, f := range forbiddenTexts {
					if found := f.pattern.FindString(line); found != "" {
						complaints = append(complaints, fmt.Sprintf("%s:%d: %q is %s", name, i+1, found, f.why))
					}
				}
			}
		}
		return complaints
	},
	broken: tree{
		"Makefile":     "all:\n\tcd /" + "root/project",
		"docs/a.md":    "Go to file:///" + "home/me/x, or `/" + "work/main/`.",
		"worker/a.go":  "package worker // TO" + "DO: finish",
		"worker/b.go":  "package worker\n// FIX" + "ME",
		".ci/run":      "GOPROXY=https://proxy" + ".golang.org go test",
		"worker/c.txt": "context.TO" + "DO()",
	},
	wants: []string{"Makefile:2", "docs/a.md:1", "worker/a.go:1", "worker/b.go:2", ".ci/run:1", "worker/c.txt:1"},
	kept: tree{
		"docs/a.md": "See https://example.com/" + "home/ and docs" + "/wo" + "rk/a.md, /workers/, ~/wo" + "rk/ and /rooted.",
		"go.sum":    "golang.org TO" + "DO h1:",
		"a.go":      "package onceward // TO" + "DOS is a system",
	},
}

var (
	inlineLink    = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	referenceLink = regexp.MustCompile(`^\s{0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?`)
	htmlLink      = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	htmlAnchor    = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	headingLine   = regexp.MustCompile(`^ {0,3}#{1,6}\s+(.+?)\s*#*$`)
	codeSpan      = regexp.MustCompile("`+[^`]*`+")
	linkInHeading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	schemeOfURL   = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)
)

// proseLines are a document's lines with its fenced code blanked, so that line
// numbers stay.
func proseLines(text string) []string {
	lines := strings.Split(text, "\n")
	fence := ""
	for i, line := range lines {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			lines[i] = ""
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
			lines[i] = ""
		}
	}
	return lines
}

// anchors are the fragments that lead into a document: those of its headings,
// made as GitHub makes them, and those it sets itself.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, line := range proseLines(text) {
		for _, match := range htmlAnchor.FindAllStringSubmatch(line, -1) {
			found[match[1]] = true
		}
		match := headingLine.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		slug := slugOf(match[1])
		for n, name := 1, slug; ; n++ {
			if !found[name] {
				found[name] = true
				break
			}
			name = fmt.Sprintf("%s-%d", slug, n)
		}
	}
	return found
}

// slugOf is the fragment of a heading.
func slugOf(heading string) string {
	heading = linkInHeading.ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, heading)
}

// linksIn are the targets on a line of prose.
func linksIn(line string) []string {
	line = codeSpan.ReplaceAllString(line, "`code`")
	var targets []string
	for _, pattern := range []*regexp.Regexp{inlineLink, referenceLink, htmlLink} {
		for _, match := range pattern.FindAllStringSubmatch(line, -1) {
			targets = append(targets, match[1])
		}
	}
	return targets
}

// brokenLink is what is wrong with a link from a document; empty if it leads
// somewhere, or out of the repository.
func (files tree) brokenLink(document, target string) string {
	if schemeOfURL.MatchString(target) || strings.HasPrefix(target, "//") {
		return ""
	}
	file, fragment, hasFragment := strings.Cut(target, "#")
	to := document
	switch {
	case strings.HasPrefix(file, "/"):
		to = path.Clean(strings.TrimPrefix(file, "/"))
	case file != "":
		to = path.Join(path.Dir(document), file)
	}
	if !files.has(to) {
		return "there is no " + to
	}
	if hasFragment && path.Ext(to) == ".md" && !anchors(files[to])[fragment] {
		return to + " has no heading for #" + fragment
	}
	return ""
}

var documentLinks = rule{
	check: func(files tree) []string {
		var complaints []string
		for _, name := range files.names() {
			if path.Ext(name) != ".md" || strings.Contains("/"+name, "/testdata/") {
				continue
			}
			for i, line := range proseLines(files[name]) {
				for _, target := range linksIn(line) {
					if why := files.brokenLink(name, target); why != "" {
						complaints = append(complaints, fmt.Sprintf("%s:%d: the link to %s leads nowhere: %s", name, i+1, target, why))
					}
				}
			}
		}
		return complaints
	},
	broken: tree{
		"README.md":    "[a](docs/gone.md)\n![b](picture.svg \"title\")\n<img src=\"logo.svg\">\n\n[c]: docs/no.md",
		"docs/here.md": "# Here\n\n[up](../../outside.md), [part](#there), [other](../README.md#part)",
	},
	wants: []string{
		"README.md:1: the link to docs/gone.md", "README.md:2: the link to picture.svg", "README.md:3", "README.md:5",
		"there is no ../outside.md", "docs/here.md has no heading for #there", "README.md has no heading for #part",
	},
	kept: tree{
		"README.md": "[a](docs/here.md#what-is-a-claim-1), [b](https://example.com/x), [c](docs), [d](mailto:a@b.c)\n" +
			"`[e](gone.md)`\n\n```\n[f](gone.md)\n```\n[g](docs/here.md 'x')\n<a id=\"mine\"></a>[h](#mine)",
		"docs/here.md": "## What is a `Claim`?\n\n## What is a [claim](../README.md)?\n[root](/README.md)",
	},
}

var decisionFile = regexp.MustCompile(`^docs/decisions/(\d{4})-[a-z0-9-]+\.md$`)

var decisionRecords = rule{
	check: func(files tree) []string {
		var complaints []string
		const index = "docs/decisions/README.md"
		listed := map[string]bool{}
		for _, line := range proseLines(files[index]) {
			for _, target := range linksIn(line) {
				listed[path.Join("docs/decisions", target)] = true
			}
		}
		next := 0 // the template has 0000
		for _, name := range files.names() {
			match := decisionFile.FindStringSubmatch(name)
			switch {
			case !under(name, "docs/decisions") || name == index:
				continue
			case match == nil:
				complaints = append(complaints, name+": a decision is named NNNN-title-in-words.md")
				continue
			case match[1] != fmt.Sprintf("%04d", next):
				complaints = append(complaints, fmt.Sprintf("%s: the next number is %04d", name, next))
			case !listed[name]:
				complaints = append(complaints, fmt.Sprintf("%s: %s does not list it", name, index))
			case next > 0 && !strings.HasPrefix(files[name], "# "+match[1]+": "):
				complaints = append(complaints, fmt.Sprintf("%s: its heading does not begin with its number", name))
			}
			next++
		}
		return complaints
	},
	broken: tree{
		"docs/decisions/README.md":        "[t](0000-template.md) [1](0001-a.md) [3](0003-c.md)",
		"docs/decisions/0000-template.md": "# NNNN: x",
		"docs/decisions/0001-a.md":        "# A",
		"docs/decisions/0003-c.md":        "# 0003: C",
		"docs/decisions/0003-d.md":        "# 0003: D",
		"docs/decisions/idea.md":          "# An idea",
	},
	wants: []string{
		"0001-a.md: its heading", "0003-c.md: the next number is 0002", "0003-d.md: docs/decisions/README.md does not list it", "idea.md: a decision is named",
	},
	kept: tree{
		"docs/decisions/README.md":        "[t](0000-template.md)\n| [0001](0001-a.md) | A |",
		"docs/decisions/0000-template.md": "# NNNN: x",
		"docs/decisions/0001-a.md":        "# 0001: A",
		"docs/0007-other.md":              "# No decision",
	},
}
