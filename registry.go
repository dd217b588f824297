package onceward

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Compiler turns a stored contract document back into a Tool.
type Compiler func(name ToolName, source []byte) (Tool, error)

// Registry holds the contracts in force and, for live operations, the versions
// that they started under. It is safe for concurrent use.
type Registry struct {
	store   Store
	compile Compiler

	mu     sync.RWMutex
	active map[ToolName]Tool
	behind map[ToolName]string // tools of which another version is in force in the ledger: which
	old    map[toolVersion]Tool
	flows  workflows
}

type toolVersion struct {
	name    ToolName
	version string
}

// NewRegistry returns an empty registry.
func NewRegistry(store Store, compile Compiler) *Registry {
	return &Registry{store: store, compile: compile, active: map[ToolName]Tool{}, old: map[toolVersion]Tool{}}
}

// Activate puts a set of contracts in force in place of the present set. It
// records each version in the ledger first; if one of them is refused, nothing
// changes here. CodeContractSuperseded: the ledger already holds a newer
// version, and force is false.
func (r *Registry) Activate(ctx context.Context, tools []Tool, force bool) error {
	next := make(map[ToolName]Tool, len(tools))
	for _, t := range tools {
		i := t.Info()
		if next[i.Name] != nil {
			return Errorf(CodeContractInvalid, "two contracts are named %s", i.Name)
		}
		next[i.Name] = t
	}
	if err := r.keepsKeys(ctx, next); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		i := next[name].Info()
		err := r.store.Activate(ctx, ContractVersion{Tool: name, Version: i.Version, Source: i.Source}, force, inForce(AuditContractInForce, string(name), i.Version))
		if err != nil {
			return fmt.Errorf("activate contract %s: %w", name, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, t := range r.active {
		r.old[toolVersion{name, t.Info().Version}] = t
	}
	r.active, r.behind = next, nil
	return nil
}

// Refresh looks at which versions are in force in the ledger. A tool of which
// this process has another one takes no new request from then on.
func (r *Registry) Refresh(ctx context.Context) error {
	inForce, err := r.store.ActiveContracts(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind = nil
	for _, c := range inForce {
		if t := r.active[c.Tool]; t != nil && t.Info().Version != c.Version {
			if r.behind == nil {
				r.behind = map[ToolName]string{}
			}
			r.behind[c.Tool] = c.Version
		}
	}
	return nil
}

// keepsKeys refuses a version whose key rule is another one than that of the
// version in force and does not list it: requests that are known under their old
// keys would be new effects. What has no rule, or cannot be read any more, is not
// compared.
func (r *Registry) keepsKeys(ctx context.Context, next map[ToolName]Tool) error {
	inForce, err := r.store.ActiveContracts(ctx)
	if err != nil {
		return fmt.Errorf("list contracts in force: %w", err)
	}
	for _, c := range inForce {
		t := next[c.Tool]
		if t == nil || t.Info().Version == c.Version || t.Info().KeyRule == "" {
			continue
		}
		was, err := r.Version(ctx, c.Tool, c.Version)
		if err != nil || was.Info().KeyRule == "" || was.Info().KeyRule == t.Info().KeyRule || slices.Contains(t.Info().KeyWas, was.Info().KeyRule) {
			continue
		}
		return &Error{Code: CodeContractInvalid, Op: "activate contract",
			Message: fmt.Sprintf("the key of %s was %s in the version in force, and key_was does not list it: requests that are known under their old keys would be new effects", c.Tool, was.Info().KeyRule),
			Hint:    fmt.Sprintf("add key_was: [%s] to spec, or give the tool another name", was.Info().KeyRule)}
	}
	return nil
}

// Check says what Activate would refuse, and changes nothing.
func (r *Registry) Check(ctx context.Context, tools []Tool) error {
	next := make(map[ToolName]Tool, len(tools))
	for _, t := range tools {
		i := t.Info()
		next[i.Name] = t
		if c, err := r.store.Contract(ctx, i.Name, i.Version); err == nil && !c.Active {
			return &Error{Code: CodeContractSuperseded, Op: "activate contract", Message: fmt.Sprintf("the ledger holds a newer version of %s than %s", i.Name, i.Version),
				Hint: "load the newer contract; to put this version in force again on purpose, start with onceward serve --reactivate"}
		}
	}
	return r.keepsKeys(ctx, next)
}

// inForce is the audit event of a document that came into force. Who put it
// there is whoever may change the server's files.
func inForce(action AuditAction, name, version string) AuditEvent {
	return NewAuditEvent(AuditEvent{Actor: auditServer, Action: action, Subject: name, Detail: "version " + version})
}

// auditServer is who does what the server's configuration says.
const auditServer = "server"

// Active returns the contract in force. It is an Error with CodeToolNotFound if
// there is none, with CodeContractSuperseded if the ledger has another version
// in force.
func (r *Registry) Active(name ToolName) (Tool, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if version := r.behind[name]; version != "" {
		return nil, &Error{Code: CodeContractSuperseded, Op: "find tool", Message: fmt.Sprintf("version %s of %s is in force, and this replica has %s", version, name, r.active[name].Info().Version),
			Hint: "give this replica the contracts that the others have, and SIGHUP"}
	}
	if t := r.active[name]; t != nil {
		return t, nil
	}
	return nil, &Error{Code: CodeToolNotFound, Op: "find tool", Message: fmt.Sprintf("no contract named %q is in force", name),
		Hint: "onceward tool list, or GET /v1/tools, shows the names"}
}

// Version returns one version of a contract, from memory or from the ledger.
func (r *Registry) Version(ctx context.Context, name ToolName, version string) (Tool, error) {
	r.mu.RLock()
	t := r.active[name]
	if t == nil || t.Info().Version != version {
		t = r.old[toolVersion{name, version}]
	}
	r.mu.RUnlock()
	if t != nil {
		return t, nil
	}
	c, err := r.store.Contract(ctx, name, version)
	if err != nil {
		return nil, fmt.Errorf("load contract %s version %s: %w", name, version, err)
	}
	if r.compile == nil {
		return nil, &Error{Code: CodeConfigInvalid, Op: "compile contract", Message: fmt.Sprintf("version %s of %s stands in the ledger, and there is no compiler for it", version, name),
			Hint: "give NewRegistry a compiler: contract.Compiler"}
	}
	if t, err = r.compile(name, c.Source); err != nil {
		return nil, fmt.Errorf("compile contract %s version %s: %w", name, version, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.old[toolVersion{name, version}] = t
	return t, nil
}

// All returns the contracts in force, by name.
func (r *Registry) All() []Tool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.active), func(a, b Tool) int {
		return strings.Compare(string(a.Info().Name), string(b.Info().Name))
	})
}
