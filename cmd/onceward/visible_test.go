package main

import "testing"

func TestTextFromElsewhereDoesNotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain, déjà vu, 日本": "plain, déjà vu, 日本", "a\x1b[2Jb": `a\x1b[2Jb`, "two\nlines": `two\nlines`, "\u202egnp.exe": `\u202egnp.exe`, "a\u009b31m": `a\u009b31m`, "it's": "it's",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}
