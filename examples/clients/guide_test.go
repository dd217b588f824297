//go:build clients

package clients_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blocks returns the code blocks of a language in a page.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	if len(out) == 0 {
		t.Fatalf("%s has no code in %s", page, language)
	}
	return out
}

// TestCodeOfTheClientsGuidesRunsAsItStands runs what people copy, with another
// address alone. A piece of the guide gets what it takes for granted before it.
func TestCodeOfTheClientsGuidesRunsAsItStands(t *testing.T) {
	t.Parallel()
	const ready = "import { Onceward, OncewardError } from '@onceward/client';\nconst client = new Onceward({ baseUrl: 'http://127.0.0.1:8686' });\n"
	const guide, known = "../../docs/clients.md", "import { tool } from 'ai';\nimport { z } from 'zod';\nimport { Onceward } from '@onceward/client';\n" +
		"const client = new Onceward({ baseUrl: 'http://127.0.0.1:8686' });\nconst event = { id: '43' };\n"
	for name, c := range map[string]struct{ page, language, before, after, reference, command string }{
		"TypeScript": {page: "../../clients/typescript/README.md", language: "ts", reference: "form/42", command: "node"},
		"Python":     {page: "../../clients/python/README.md", language: "python", reference: "form/42", command: "python3"},
		"errors":     {page: guide, language: "ts", before: ready, reference: "4711", command: "node"},
		"guard":      {page: guide, language: "ts", before: known, after: "await createTicket.execute({ subject: 'It broke' }, {});\n", reference: "complaints/43", command: "node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t)
			code := blocks(t, c.page, c.language)
			n := map[bool]int{true: 1}[name == "guard"]
			text := strings.ReplaceAll(c.before+code[n]+c.after, "http://127.0.0.1:8686", s.URL())
			dir, err := os.MkdirTemp(".", "guide-") // beside node_modules
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			file := "code" + map[string]string{"node": ".mjs", "python3": ".py"}[c.command]
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			client, err := filepath.Abs("../../clients/python")
			if err != nil {
				t.Fatal(err)
			}
			s.suite(t, dir, "env", fmt.Sprintf("PYTHONPATH=%s", client), c.command, file)
			if got := s.provider.Effects(c.reference).Count; got != 1 {
				t.Errorf("%d effects under %s", got, c.reference)
			}
		})
	}
}
