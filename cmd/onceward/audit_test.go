package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/internal/httpapi"
)

func TestReasonWithALineEndForgesNoLineOfTheTrail(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &cobra.Command{}
	c.SetOut(&out)
	page := &httpapi.AuditPage{Events: []httpapi.AuditEvent{{Actor: "token:ann", Action: "tool_paused", Subject: "fax.send",
		Reason: "down\n2026-01-01T00:00:00Z\ttoken:root\ttool_resumed"}}}
	if err := printAudit(c, page); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 { // the head, and the one line
		t.Errorf("%d lines are printed:\n%s", n, out.String())
	}
}
