package onceward

import (
	"context"
	"maps"
	"slices"
	"time"
)

// known is Active, and of a function that another process of the ledger's has put in
// force its rules. It asks the ledger only where nothing of the name is here.
func (r *Registry) known(ctx context.Context, name ToolName) (Tool, error) {
	t, none := r.Active(name)
	if !Is(none, CodeToolNotFound) {
		return t, none
	}
	version, err := r.versionInForce(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case version == "":
		return nil, none
	}
	t, err = r.Version(ctx, name, version)
	switch {
	case notHere(t) != nil:
		return t, nil
	case tryAgain(err):
		return nil, err
	}
	return nil, none // a contract that this process was not given
}

// find is known for whoever needs the tool's code: ErrFunctionNotHere where only
// its rules are here.
func (r *Registry) find(ctx context.Context, name ToolName) (Tool, error) {
	t, err := r.known(ctx, name)
	if notHere(t) != nil {
		return nil, notFoundHere(name)
	}
	return t, err
}

// lookBeside reads the rules of what is in force in the ledger and not here, and
// reports whether there is something new.
//
// Why: this process ends leases under those rules, too. So how long an attempt may
// take to show is the longest time of them all.
func (r *Registry) lookBeside(ctx context.Context, versions map[ToolName]string) (more bool, err error) {
	r.mu.RLock()
	was := r.beside
	next := map[toolVersion]Policy{}
	for name, version := range versions {
		if t := r.active[name]; t == nil || t.Info().Version != version {
			next[toolVersion{name, version}] = Policy{}
		}
	}
	r.mu.RUnlock()
	for v := range next {
		if p, known := was[v]; known {
			next[v] = p
			continue
		}
		t, err := r.Version(ctx, v.name, v.version)
		switch {
		case err == nil:
			next[v], more = t.Info().Policy, true
		case tryAgain(err):
			return false, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beside = next
	return more, nil
}

// names are the tools in force, here and in the ledger, in order.
func (r *Registry) names() []ToolName {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := slices.Collect(maps.Keys(r.active))
	for v := range r.beside {
		names = append(names, v.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// longest is the longest of a time that the rules in force say, here and in the ledger.
func (r *Registry) longest(of func(*Policy) time.Duration) (longest time.Duration) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, t := range r.active {
		longest = max(longest, of(&t.Info().Policy))
	}
	for _, p := range r.beside {
		longest = max(longest, of(&p))
	}
	return longest
}
