package mcpcall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// Definition is what a server says of one tool, and callers are shown.
type Definition struct {
	Name     string
	Raw      json.RawMessage // as it came
	Digest   string          // SHA-256 of its canonical form without _meta, hexadecimal
	ReadOnly bool            // the server says that it only reads
	Changed  string          // how it differs from what this process saw first; empty: it does not
	Hidden   bool            // it holds characters that a reader does not see
	taskOnly bool            // it is called as a task (2025-11-25)
	output   json.RawMessage // the schema of structuredContent; nil: none
}

// Definitions lists a server's tools, in its order. The list is at most a second
// old, or as old as the server allows.
func (c *Client) Definitions(ctx context.Context, server string) ([]Definition, error) {
	u := c.upstream(server)
	if u == nil {
		return nil, onceward.Errorf(onceward.CodeProviderUnreachable, "no MCP server of the name %s is configured here", server)
	}
	if err := u.list(ctx); err != nil {
		return nil, &onceward.Error{Code: onceward.CodeProviderUnreachable, Op: "list tools", Message: "the MCP server " + server + " does not list its tools", Err: err}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	out := make([]Definition, 0, len(u.order))
	for _, name := range u.order {
		out = append(out, *u.now[name])
	}
	return out, nil
}

// ready reports why a call must not be sent, nil if it may. A write is sent
// under the definition only that its contract was made for, or, where the
// contract names none, that this process saw first.
func (u *upstream) ready(ctx context.Context, tool string, req *onceward.Request, opts *onceward.SendOptions) *fault {
	if !opts.Write {
		return nil
	}
	if err := u.list(ctx); err != nil {
		f := unreachable(err)
		if f.code == "connect_failed" {
			f.code, f.text = "list_failed", "the server's tools could not be listed, so that nothing is known of what would be called"
		}
		return f
	}
	u.mu.Lock()
	d, first := u.now[tool], u.seen[tool]
	u.mu.Unlock()
	full := u.name() + "." + tool
	if d == nil {
		return &fault{onceward.ClassAuth, "definition_missing", "the server does not list the tool " + full + " any more: an operator has to look"}
	}
	for _, h := range req.Header {
		if h.Name == onceward.DefinitionHeader && h.Value != d.Digest {
			how := "is not the one that the contract was made for"
			if first.Digest == h.Value {
				how += ": " + d.Changed
			}
			return d.stop(full, how)
		}
		if h.Name == onceward.DefinitionHeader {
			return nil
		}
	}
	if d.Changed != "" {
		return d.stop(full, "changed since it was first seen: "+d.Changed)
	}
	return nil
}

// stop says that a definition is another one. The class pauses the tool: a
// person has to look before anything is sent.
func (d *Definition) stop(tool, how string) *fault {
	text := "the definition of " + tool + " " + how
	if d.Hidden {
		text += "; it holds characters that do not show"
	}
	return &fault{onceward.ClassAuth, onceward.DefinitionChanged, text}
}

// list reads the server's list, unless it is fresh.
func (u *upstream) list(ctx context.Context) error {
	u.mu.Lock()
	fresh := u.session != nil && time.Since(u.listed) < definitionsAge
	u.mu.Unlock()
	if fresh {
		return nil
	}
	s, err := u.connected(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultDeadline)
	defer cancel()
	var all []json.RawMessage
	cursor, cached := "", false
	for range listPagesMax {
		f := &flight{method: "tools/list", opts: onceward.SendOptions{Hosts: []string{hostOf(u.server.URL)}}}
		page, err := s.ListTools(context.WithValue(ctx, flightKey{}, f), &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			go u.drop(s)
			return fmt.Errorf("list tools of %s: %w", u.name(), err)
		}
		var raw struct {
			Tools []json.RawMessage `json:"tools"`
		}
		f.mu.Lock()
		if f.raw == nil {
			cached = true // the SDK keeps a list for as long as the server allows
		} else {
			err = json.Unmarshal(f.raw, &raw)
		}
		f.mu.Unlock()
		if err != nil {
			return fmt.Errorf("read the tools of %s: %w", u.name(), err)
		}
		all = append(all, raw.Tools...)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	u.took(all, cached)
	return nil
}

// took keeps a list.
func (u *upstream) took(all []json.RawMessage, cached bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.listed = time.Now()
	if cached && u.now != nil {
		return
	}
	u.now, u.order = map[string]*Definition{}, nil
	for _, raw := range all {
		d, err := define(raw)
		if err != nil || u.now[d.Name] != nil {
			continue // what cannot be read, or stands twice, is not offered
		}
		if first := u.seen[d.Name]; first == nil {
			u.seen[d.Name] = d
		} else if first.Digest != d.Digest {
			d.Changed = differences(first.Raw, d.Raw)
		}
		u.now[d.Name] = d
		u.order = append(u.order, d.Name)
	}
}

// define reads one definition.
func define(raw json.RawMessage) (*Definition, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("read definition: %w", err)
	}
	d := &Definition{Raw: raw}
	var known struct {
		Name        string `json:"name"`
		Annotations struct {
			ReadOnly bool `json:"readOnlyHint"`
		} `json:"annotations"`
		Execution struct {
			Tasks string `json:"taskSupport"`
		} `json:"execution"`
		Output json.RawMessage `json:"outputSchema"`
	}
	if err := json.Unmarshal(raw, &known); err != nil || known.Name == "" {
		return nil, fmt.Errorf("a definition has no name")
	}
	if d.output = known.Output; string(d.output) == "null" {
		d.output = nil
	}
	d.Name, d.ReadOnly, d.taskOnly = known.Name, known.Annotations.ReadOnly, known.Execution.Tasks == "required"
	delete(members, "_meta")
	material, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("write definition: %w", err)
	}
	canonical, err := onceward.Canonicalize(material)
	if err != nil {
		return nil, fmt.Errorf("write definition: %w", err)
	}
	sum := sha256.Sum256(canonical)
	d.Digest = hex.EncodeToString(sum[:])
	var text strings.Builder
	texts(&text, material)
	d.Hidden = onceward.Visible(text.String()) != text.String()
	return d, nil
}

// texts writes every text of a JSON value.
func texts(b *strings.Builder, raw []byte) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	for {
		t, err := dec.Token()
		if err != nil {
			return
		}
		if s, ok := t.(string); ok {
			b.WriteString(s)
		}
	}
}

// differences names the members in which two definitions differ.
func differences(a, b json.RawMessage) string {
	var was, is map[string]json.RawMessage
	if json.Unmarshal(a, &was) != nil || json.Unmarshal(b, &is) != nil {
		return "it cannot be read"
	}
	var names []string
	for name := range was {
		if name != "_meta" && !sameJSON(was[name], is[name]) {
			names = append(names, name)
		}
	}
	for name := range is {
		if _, there := was[name]; !there && name != "_meta" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func sameJSON(a, b json.RawMessage) bool {
	ca, errA := onceward.Canonicalize(a)
	cb, errB := onceward.Canonicalize(b)
	return errA == nil && errB == nil && string(ca) == string(cb)
}
