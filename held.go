package onceward

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// HeldVersion is a contract version that this process has and that waits for its
// owners' yes. The version in force goes on meanwhile.
type HeldVersion struct {
	Next        Tool
	InForce     Tool
	Differences []ContractDifference
	Signed      []ContractSigning // in place of InForce, as of the newest look
}

// OwnedBy reports whether the principal is the owner who signs the version so.
func (h *HeldVersion) OwnedBy(p Principal, as SignAs) bool {
	return p.owns(ownerOf(h.InForce.Info(), h.Next.Info(), as))
}

// SignOff sets how versions are compared, and whether one that widens risk waits
// for its owners. Call it before use. Without it versions are not compared, and
// nothing waits.
func (r *Registry) SignOff(compare Comparer, required bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compare, r.signOff = compare, required
}

// Held lists the versions that wait here, by tool.
func (r *Registry) Held() []HeldVersion {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.heldInOrder()
}

func (r *Registry) heldInOrder() []HeldVersion {
	return slices.SortedFunc(maps.Values(r.held), func(a, b HeldVersion) int {
		return strings.Compare(string(a.Next.Info().Name), string(b.Next.Info().Name))
	})
}

// HeldVersion returns the version of a tool that waits here, if one does.
func (r *Registry) HeldVersion(name ToolName) (HeldVersion, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	h, ok := r.held[name]
	return h, ok
}

// hold proposes a version that widens risk and that not every owner has signed;
// ok is false if nobody has to be asked. Where the version in force cannot be
// read nothing is decided: the error refuses the whole set.
func (r *Registry) hold(ctx context.Context, t Tool, was string, force bool) (h HeldVersion, ok bool, err error) {
	i := t.Info()
	if !r.signOff || was == "" || was == i.Version {
		return h, false, nil
	}
	old, err := r.Version(ctx, i.Name, was)
	if err != nil {
		return h, false, fmt.Errorf("compare contract %s with the version in force: %w", i.Name, err)
	}
	h = HeldVersion{Next: t, InForce: old, Differences: r.compare(old, t)}
	if !Widens(h.Differences) {
		return h, false, nil
	}
	if h.Signed, err = r.signings(ctx, i.Name, i.Version, was); err != nil {
		return h, false, err
	}
	note := NewAuditEvent(AuditEvent{Actor: auditServer, Action: AuditContractProposed, Subject: string(i.Name), Detail: fmt.Sprintf("version %s in place of %s", i.Version, was)})
	if err := r.store.Propose(ctx, ContractVersion{Tool: i.Name, Version: i.Version, Source: i.Source}, force, note); err != nil {
		return h, false, fmt.Errorf("propose contract %s: %w", i.Name, err)
	}
	waits := !signedOff(h.Signed)
	if waits && notHere(old) != nil {
		return h, false, &Error{Code: CodeStateForbids, Op: "activate function", Message: fmt.Sprintf("version %s of %s waits for its owners, and the function in force, version %s, is not here to go on meanwhile", i.Version, i.Name, was),
			Hint: "let the owners sign it, then start again; let the program of before run until then"}
	}
	return h, waits, nil
}

// release brings those held versions in force that are signed now, or that
// another replica brought, and forgets those in place of which another one came.
// It returns the tools whose contract changed here.
//
// Why the store alone decides: it puts a proposed version in force only as long
// as no other came in force since, so that signatures never count against a
// version that the owners did not see.
func (r *Registry) release(ctx context.Context, inForce map[ToolName]string) (came []ToolName, err error) {
	for _, h := range r.Held() {
		i := h.Next.Info()
		switch now := inForce[i.Name]; {
		case now == i.Version:
		case now != h.InForce.Info().Version:
			r.drop(i)
			continue
		default:
			if h.Signed, err = r.signings(ctx, i.Name, i.Version, now); err != nil {
				return came, err
			}
			if !signedOff(h.Signed) {
				r.saw(h)
				continue
			}
			err := r.store.Activate(ctx, ContractVersion{Tool: i.Name, Version: i.Version, Source: i.Source}, false, putInForce(AuditContractInForce, string(i.Name), i.Version))
			if Is(err, CodeContractSuperseded) {
				r.drop(i)
				continue
			}
			if err != nil {
				return came, fmt.Errorf("activate contract %s: %w", i.Name, err)
			}
		}
		if r.takeOver(h) {
			came = append(came, i.Name)
		}
	}
	return came, nil
}

// stillHeld reports whether the version waits; a reload may have come between.
func (r *Registry) stillHeld(i *ToolInfo) bool {
	h, ok := r.held[i.Name]
	return ok && h.Next.Info().Version == i.Version
}

func (r *Registry) saw(h HeldVersion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stillHeld(h.Next.Info()) {
		r.held[h.Next.Info().Name] = h
	}
}

func (r *Registry) drop(i *ToolInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stillHeld(i) {
		delete(r.held, i.Name)
	}
}

func (r *Registry) takeOver(h HeldVersion) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := h.Next.Info()
	if !r.stillHeld(i) {
		return false
	}
	delete(r.held, i.Name)
	r.old[toolVersion{i.Name, h.InForce.Info().Version}] = h.InForce
	r.active[i.Name] = h.Next
	return true
}

// refreshTools looks which contracts are in force, and takes over what came.
func (l *Ledger) refreshTools(ctx context.Context) error {
	came, elsewhere, err := l.tools.refresh(ctx)
	for _, name := range came {
		if t, err := l.tools.Active(name); err == nil {
			l.log.Info("contract signed by its owners: in force", "tool", name, "version", t.Info().Version)
		}
	}
	if len(came) > 0 || elsewhere {
		l.ContractsChanged()
	}
	return err
}

// HeldVersion returns the version of a tool that waits for its owners here.
func (l *Ledger) HeldVersion(name ToolName) (HeldVersion, bool) { return l.tools.HeldVersion(name) }

// ContractStanding is one version of a contract: how it stands, in what it
// differs from the one before, and who signed it.
type ContractStanding struct {
	ContractVersion                      // without its source
	Against         string               // what it is compared with: the version in force for one that waits, else the one before; empty: it is the first
	Differences     []ContractDifference // nil where it is the first, or where they cannot be compared
	Incomparable    string               // why they cannot be compared
	Signed          []ContractSigning    // in whatever place; Open counts those in place of Against
}

// Open lists the capacities in which a version that waits is not signed.
func (c *ContractStanding) Open() []SignAs {
	if !c.Proposed {
		return nil
	}
	return Unsigned(slices.DeleteFunc(slices.Clone(c.Signed), func(s ContractSigning) bool { return s.Against != c.Against }))
}

// ContractHistoryMax is how many versions of a contract are listed.
const ContractHistoryMax = 50

// ContractHistory lists the versions of a contract, the newest first. Who signed
// and why is for people of [DefaultTenant] only.
func (l *Ledger) ContractHistory(ctx context.Context, p Principal, name ToolName) ([]ContractStanding, error) {
	if err := Authorize(p, ActionReadTools); err != nil {
		return nil, err
	}
	all, err := l.tools.History(ctx, name)
	for i := range all {
		for s := range all[i].Signed {
			if p.Tenant != DefaultTenant {
				all[i].Signed[s].Actor, all[i].Signed[s].Reason = "", ""
			}
		}
	}
	return all, err
}

// ContractDocument returns a stored version of a contract with its source.
// CodeToolNotFound: there is none. CodeForbidden: contracts are the whole
// server's, and are read by people of [DefaultTenant].
func (l *Ledger) ContractDocument(ctx context.Context, p Principal, name ToolName, version string) (ContractVersion, error) {
	if err := Authorize(p, ActionReadTools); err != nil {
		return ContractVersion{}, err
	}
	if p.Tenant != DefaultTenant {
		return ContractVersion{}, &Error{Code: CodeForbidden, Op: "read contract", Message: "contracts are the whole server's, and are read by people of its own tenant", Hint: "ask with credentials of the tenant " + string(DefaultTenant)}
	}
	return l.store.Contract(ctx, name, version)
}

// History lists the newest versions of a contract, the newest first; at most
// ContractHistoryMax. CodeToolNotFound: there is none.
func (r *Registry) History(ctx context.Context, name ToolName) ([]ContractStanding, error) {
	versions, err := r.store.ContractVersions(ctx, name, ContractHistoryMax+1)
	if err != nil {
		return nil, fmt.Errorf("list versions of contract %s: %w", name, err)
	}
	if len(versions) == 0 {
		return nil, &Error{Code: CodeToolNotFound, Op: "list versions", Message: fmt.Sprintf("no contract named %q was ever in force", name), Hint: "onceward tool list, or GET /v1/tools, shows the names"}
	}
	all := make([]ContractStanding, min(len(versions), ContractHistoryMax))
	for i := range all {
		all[i] = ContractStanding{ContractVersion: versions[i], Against: versionBefore(versions, i)}
		if all[i].Signed, err = r.store.Signings(ctx, name, versions[i].Version); err != nil {
			return nil, fmt.Errorf("list signatures of contract %s: %w", name, err)
		}
		r.describe(ctx, &all[i])
	}
	return all, nil
}

// versionBefore is what a version is compared with.
func versionBefore(versions []ContractVersion, i int) string {
	for j := range versions {
		if older := j > i && !versions[j].Proposed; versions[i].Proposed && versions[j].Active || !versions[i].Proposed && older {
			return versions[j].Version
		}
	}
	return ""
}

func (r *Registry) describe(ctx context.Context, c *ContractStanding) {
	if r.compare == nil || c.Against == "" {
		return
	}
	was, err := r.Version(ctx, c.Tool, c.Against)
	if err == nil {
		var is Tool
		if is, err = r.Version(ctx, c.Tool, c.Version); err == nil {
			c.Differences = r.compare(was, is)
			return
		}
	}
	c.Incomparable = "one of the two cannot be read here: " + string(CodeOf(err))
}
