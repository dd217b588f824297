package onceward

import (
	"cmp"
	"context"
	"errors"
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

	mu      sync.RWMutex
	active  map[ToolName]Tool
	behind  map[ToolName]string // tools of which another version is in force in the ledger: which
	old     map[toolVersion]Tool
	absent  map[toolVersion]Tool   // functions that are not activated here, as the ledger has them
	beside  map[toolVersion]Policy // in force in the ledger, and not here; zero: it cannot be read
	flows   workflows
	sources eventSources

	compare Comparer // nil: versions are not compared
	signOff bool     // a version that widens risk waits for its owners
	held    map[ToolName]HeldVersion
}

type toolVersion struct {
	name    ToolName
	version string
}

// NewRegistry returns an empty registry.
func NewRegistry(store Store, compile Compiler) *Registry {
	return &Registry{store: store, compile: compile, active: map[ToolName]Tool{}, old: map[toolVersion]Tool{}, absent: map[toolVersion]Tool{}}
}

// Activate puts a set of contracts in force in place of the present set. It
// records each version in the ledger first; if one of them is refused, nothing
// changes here. CodeContractSuperseded: the ledger already holds a newer
// version, and force is false. A version that has to be signed first is proposed
// (see SignOff and Held), and the version in force stays in its place.
func (r *Registry) Activate(ctx context.Context, tools []Tool, force bool) error {
	next := make(map[ToolName]Tool, len(tools))
	for _, t := range tools {
		i := t.Info()
		if next[i.Name] != nil {
			return Errorf(CodeContractInvalid, "two contracts are named %s", i.Name)
		}
		next[i.Name] = t
	}
	held, err := r.record(ctx, next, force)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, t := range r.active {
		r.old[toolVersion{name, t.Info().Version}] = t
	}
	r.active, r.behind, r.held = next, nil, held
	clear(r.absent)
	return nil
}

// activateTries bounds how often a set is compared anew with what another replica
// put in force meanwhile.
const activateTries = 5

// record compares the versions with those in force, and records them. What is
// found to be harmless is harmless in place of one version only: where another
// one came in force meanwhile, everything is compared anew.
func (r *Registry) record(ctx context.Context, next map[ToolName]Tool, force bool) (held map[ToolName]HeldVersion, err error) {
	for range activateTries {
		set := maps.Clone(next)
		if held, err = r.activateEach(ctx, set, force); !Is(err, CodeWriteConflict) {
			maps.Copy(next, set)
			break
		}
	}
	return held, err
}

// activateEach records the versions. What has to wait is returned, and stands in
// next no more: the version in force stands there in its place.
func (r *Registry) activateEach(ctx context.Context, next map[ToolName]Tool, force bool) (map[ToolName]HeldVersion, error) {
	versions, err := r.versionsInForce(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.keepsKeys(ctx, next, versions); err != nil {
		return nil, err
	}
	held := map[ToolName]HeldVersion{}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		i := next[name].Info()
		h, waits, err := r.hold(ctx, next[name], versions[name], force)
		if err != nil {
			return nil, err
		}
		if waits {
			held[name], next[name] = h, h.InForce
			continue
		}
		was := versions[name]
		err = r.store.Activate(ctx, ContractVersion{Tool: name, Version: i.Version, Source: i.Source, Replaces: &was}, force, putInForce(AuditContractInForce, string(name), i.Version))
		if err != nil {
			return nil, fmt.Errorf("activate contract %s: %w", name, err)
		}
	}
	return held, nil
}

// versionsInForce says which version of each tool is in force in the ledger.
func (r *Registry) versionsInForce(ctx context.Context) (map[ToolName]string, error) {
	active, err := r.store.ActiveContracts(ctx)
	if err != nil {
		return nil, fmt.Errorf("list contracts in force: %w", err)
	}
	versions := make(map[ToolName]string, len(active))
	for _, c := range active {
		versions[c.Tool] = c.Version
	}
	return versions, nil
}

// versionInForce is that of one tool; empty: none.
func (r *Registry) versionInForce(ctx context.Context, name ToolName) (string, error) {
	versions, err := r.versionsInForce(ctx)
	return versions[name], err
}

// Refresh looks at which versions are in force in the ledger. A tool of which
// this process has another one takes no new request from then on; a version that
// waited here and is signed now comes in force.
func (r *Registry) Refresh(ctx context.Context) error {
	_, _, err := r.refresh(ctx)
	return err
}

// refresh is Refresh; it returns the tools whose version came in force here, and
// whether one came in force elsewhere.
func (r *Registry) refresh(ctx context.Context) (came []ToolName, elsewhere bool, err error) {
	versions, err := r.versionsInForce(ctx)
	if err != nil {
		return nil, false, err
	}
	if came, err = r.release(ctx, versions); err != nil {
		return came, false, err
	}
	if len(came) > 0 {
		if versions, err = r.versionsInForce(ctx); err != nil {
			return came, false, err
		}
	}
	r.compareWith(versions)
	elsewhere, err = r.lookBeside(ctx, versions)
	return came, elsewhere, err
}

// compareWith notes of which tools another version is in force in the ledger.
func (r *Registry) compareWith(versions map[ToolName]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind = nil
	for name, version := range versions {
		if t := r.active[name]; t != nil && t.Info().Version != version {
			if r.behind == nil {
				r.behind = map[ToolName]string{}
			}
			r.behind[name] = version
		}
	}
}

// keepsKeys refuses a version whose key rule is another one than that of the
// version in force and does not list it: requests that are known under their old
// keys would be new effects. What has no rule, or cannot be read any more, is not
// compared.
func (r *Registry) keepsKeys(ctx context.Context, next map[ToolName]Tool, inForce map[ToolName]string) error {
	for _, name := range slices.Sorted(maps.Keys(inForce)) {
		t := next[name]
		if t == nil || t.Info().Version == inForce[name] || t.Info().KeyRule == "" {
			continue
		}
		was, err := r.Version(ctx, name, inForce[name])
		if err != nil || was.Info().KeyRule == "" || was.Info().KeyRule == t.Info().KeyRule || slices.Contains(t.Info().KeyWas, was.Info().KeyRule) {
			continue
		}
		if isFunction(t.Info().Source) {
			return &Error{Code: CodeContractInvalid, Op: "activate function",
				Message: fmt.Sprintf("the key rule of the function %s is %s, and was %s in the version in force: requests that are known under their old keys would be new effects", name, t.Info().KeyRule, was.Info().KeyRule),
				Hint:    "leave Key and KeyRule as they were, or give the function another name"}
		}
		return &Error{Code: CodeContractInvalid, Op: "activate contract",
			Message: fmt.Sprintf("the key of %s was %s in the version in force, and key_was does not list it: requests that are known under their old keys would be new effects", name, was.Info().KeyRule),
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
		if c, err := r.store.Contract(ctx, i.Name, i.Version); err == nil && !c.Active && !c.Proposed {
			return &Error{Code: CodeContractSuperseded, Op: "activate contract", Message: fmt.Sprintf("the ledger holds a newer version of %s than %s", i.Name, i.Version),
				Hint: "load the newer contract; to put this version in force again on purpose, start with onceward serve --reactivate"}
		}
	}
	versions, err := r.versionsInForce(ctx)
	if err != nil {
		return err
	}
	return r.keepsKeys(ctx, next, versions)
}

// putInForce is the audit event of a document that came into force. Who put it
// there is whoever may change the server's files.
func putInForce(action AuditAction, name, version string) AuditEvent {
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

// Version returns one version of a contract, from memory or from the ledger. Of a
// function that is not activated here it has the rules alone.
func (r *Registry) Version(ctx context.Context, name ToolName, version string) (Tool, error) {
	r.mu.RLock()
	t := r.active[name]
	if t == nil || t.Info().Version != version {
		t = cmp.Or(r.old[toolVersion{name, version}], r.absent[toolVersion{name, version}])
	}
	r.mu.RUnlock()
	if t != nil {
		return t, nil
	}
	c, err := r.store.Contract(ctx, name, version)
	if err != nil {
		return nil, fmt.Errorf("load contract %s version %s: %w", name, version, err)
	}
	if t, err = r.stored(&c); err != nil {
		if errors.Is(err, ErrFunctionNotHere) {
			return r.storedAbsent(&c)
		}
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.old[toolVersion{name, version}] = t
	return t, nil
}

// stored compiles a version as the ledger keeps it.
func (r *Registry) stored(c *ContractVersion) (Tool, error) {
	if isFunction(c.Source) {
		return r.storedFunction(c)
	}
	if r.compile == nil {
		return nil, &Error{Code: CodeConfigInvalid, Op: "compile contract", Message: fmt.Sprintf("version %s of %s stands in the ledger, and there is no compiler for it", c.Version, c.Tool),
			Hint: "give NewRegistry a compiler: contract.Compiler"}
	}
	t, err := r.compile(c.Tool, c.Source)
	if err != nil {
		return nil, fmt.Errorf("compile contract %s version %s: %w", c.Tool, c.Version, err)
	}
	return t, nil
}

// storedFunction is an earlier version of a function that this process has.
func (r *Registry) storedFunction(c *ContractVersion) (Tool, error) {
	r.mu.RLock()
	t, ok := r.active[c.Tool].(*FunctionTool)
	r.mu.RUnlock()
	if !ok {
		return nil, notFoundHere(c.Tool)
	}
	old, err := t.version(c.Source)
	if err != nil {
		return nil, err // why not both: a nil pointer is no nil Tool
	}
	return old, nil
}

// storedAbsent is a version of a function that this process has not, until it has.
func (r *Registry) storedAbsent(c *ContractVersion) (Tool, error) {
	t, err := newAbsentFunction(c)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, came := r.active[c.Tool].(*FunctionTool); !came {
		r.absent[toolVersion{c.Tool, c.Version}] = t
	}
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

// inForce is Active, and where this process put nothing in force the version that
// the ledger has.
func (r *Registry) inForce(ctx context.Context, name ToolName) (Tool, error) {
	if t, err := r.Active(name); err == nil {
		return t, nil
	}
	version, err := r.versionInForce(ctx, name)
	if err != nil {
		return nil, err
	}
	return r.Version(ctx, name, version)
}

// allInForce is All, and where this process put nothing in force the tools that
// the ledger has; those that cannot be compiled here are left out.
func (r *Registry) allInForce(ctx context.Context) ([]Tool, error) {
	if all := r.All(); len(all) > 0 {
		return all, nil
	}
	versions, err := r.versionsInForce(ctx)
	if err != nil {
		return nil, err
	}
	var all []Tool
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		if t, err := r.Version(ctx, name, versions[name]); err == nil {
			all = append(all, t)
		}
	}
	return all, nil
}
