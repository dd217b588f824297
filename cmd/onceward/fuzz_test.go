package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
)

// FuzzTrail holds that no file makes the verification of an exported trail panic,
// and that none is called whole that this key did not sign.
func FuzzTrail(f *testing.F) {
	head := `{"onceward_audit":{"format":1}}` + "\n"
	for _, seed := range []string{head, head + `{"seal":{"number":1,"previous":"","count":0,"rows":"","hash":""}}`, head + `{"row":{"table":"events","position":1,"body":"AAAA","says":{}}}`, head + `{"row":{"table":"journal","position":-1,"body":"","says":null}}`, `{"onceward_audit":{"format":2}}`, head + `{"checkpoint":{"seal":1,"key":"AA==","signature":"AA=="}}`, "[]", head + "\x00"} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), "trail.jsonl")
	key := bytes.Repeat([]byte{7}, 32)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		trail, _, err := readTrail(path)
		if err != nil {
			return
		}
		v, err := onceward.VerifyAudit(t.Context(), trail, key)
		if err == nil && v.Checkpoints > 0 && len(v.Faults) == 0 {
			t.Fatalf("%q is whole and signed", data)
		}
	})
}

// FuzzConfig holds that no configuration file makes its reader panic, and that
// what is refused is refused as a configuration.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{"db: sqlite:a.db\nlisten: 127.0.0.1:0\n", "oidc: {roles: {a: [b]}}", "sinks: [{name: a, nats: {url: x}}]", "drain: 1e99s", "a: &a [*a]", "\t", "db: [", "? x", "\xff", "drain: -1s\nmonitor: 5", "mcp: {oauth: {scopes: {a: }}}", "hosts: {}"} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), "onceward.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c := &cobra.Command{}
		c.Flags().String("config", path, "")
		if err := new(config).readFile(c); err != nil && !onceward.Is(err, onceward.CodeConfigInvalid) {
			t.Fatal(err)
		}
	})
}
