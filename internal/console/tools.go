package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// Drill is what the console shows of drills: the rows that onceward drill --json
// writes, by tool.
type Drill struct {
	Started time.Time  `json:"started"`
	Rows    []DrillRow `json:"rows"`
}

// DrillRow is one scenario at one contract.
type DrillRow struct {
	Tool    string `json:"tool"`
	Title   string `json:"title"`
	Verdict string `json:"verdict"`
	Why     string `json:"why"`
	Effects int    `json:"effects"`
}

// toolView is one contract in force.
type toolView struct {
	Info     *onceward.ToolInfo
	Paused   *onceward.ToolSwitch
	Findings []Finding
	Held     *onceward.HeldVersion
	Answered onceward.Answered // of the last day; zero where the reader may not read reports
	Unknown  int               // now
	Health   string            // good, open, bad: what there is to say of it now
}

// toolsView is the list of contracts.
type toolsView struct {
	Tools                []*toolView
	Stopped              []onceward.ToolSwitch // of every tool at once
	MayStop, ReadReports bool
	TenantStopped        bool
}

// tools is GET /tools.
func tools(p *page) error {
	v := toolsView{MayStop: p.mayOnAll(onceward.ActionSwitchTools), ReadReports: p.may(onceward.ActionReadReports)}
	stopped, err := p.ledger.Switches(p.req.Context(), p.who)
	if err != nil {
		return err
	}
	for _, sw := range stopped {
		if sw.Tool == "" {
			v.Stopped = append(v.Stopped, sw)
			v.TenantStopped = v.TenantStopped || sw.Tenant == p.who.Tenant
		}
	}
	answered, err := p.answered()
	if err != nil {
		return err
	}
	for _, t := range p.ledger.Tools() {
		v.Tools = append(v.Tools, p.toolOf(t, answered))
	}
	slices.SortFunc(v.Tools, func(a, b *toolView) int { return cmp.Compare(a.Info.Name, b.Info.Name) })
	return p.show("tools", word("tools.title"), v)
}

// answered is how each tool's requests of the last day were answered.
func (p *page) answered() (map[onceward.ToolName]onceward.Answered, error) {
	if !p.may(onceward.ActionReadReports) {
		return nil, nil
	}
	o, err := p.ledger.Overview(p.req.Context(), p.who, 24*time.Hour)
	if err != nil {
		return nil, err
	}
	all := map[onceward.ToolName]onceward.Answered{}
	for _, t := range o.Tools {
		all[t.Tool] = t.Answered
	}
	return all, nil
}

func (p *page) toolOf(t onceward.Tool, answered map[onceward.ToolName]onceward.Answered) *toolView {
	v := &toolView{Info: t.Info(), Findings: p.opts.Lint(t), Answered: answered[t.Info().Name], Health: "good"}
	if sw, paused := p.ledger.Paused(p.who.Tenant, v.Info.Name); paused {
		v.Paused, v.Health = &sw, "bad"
	}
	if h, held := p.ledger.HeldVersion(v.Info.Name); held {
		v.Held = &h
	}
	return v
}

// oneToolView is the page of one contract.
type oneToolView struct {
	*toolView
	Source   string // the document; empty: not for the reader
	Schema   string
	Versions []onceward.ContractStanding
	Dead     []*onceward.Operation
	Waiting  []*onceward.Operation // unknown or in review
	Drill    []DrillRow
	Drilled  time.Time
	MayPause bool
	MayDead  bool
	MaySign  bool
	Sign     map[string][]onceward.SignAs // by version: as what the reader may sign it
	Now      time.Time
}

// tool is GET /tools/{name}.
func tool(p *page) error {
	name, err := onceward.ParseToolName(p.req.PathValue("name"))
	if err != nil {
		return err
	}
	t, err := p.ledger.Tool(name)
	if err != nil {
		return err
	}
	answered, err := p.answered()
	if err != nil {
		return err
	}
	ctx := p.req.Context()
	v := &oneToolView{toolView: p.toolOf(t, answered), Schema: pretty(t.Info().InputSchema), MayPause: p.mayOn(onceward.ActionSwitchTools, name, t.Info().Policy.Effect), MayDead: p.may(onceward.ActionReplay),
		MaySign: p.mayOn(onceward.ActionSignContracts, name, t.Info().Policy.Effect) && p.who.Tenant == onceward.DefaultTenant, Now: p.now}
	if v.Versions, err = p.ledger.ContractHistory(ctx, p.who, name); err != nil {
		return err
	}
	if v.MaySign {
		v.Sign = p.signable(v.Held, v.Versions)
	}
	if p.who.Tenant == onceward.DefaultTenant {
		v.Source = string(t.Info().Source)
	}
	if p.may(onceward.ActionRead) {
		for _, list := range []struct {
			into   *[]*onceward.Operation
			states []onceward.State
		}{{&v.Waiting, []onceward.State{onceward.StateOutcomeUnknown, onceward.StateNeedsReview}}, {&v.Dead, []onceward.State{onceward.StateFailed, onceward.StateAbandoned}}} {
			found, err := p.ledger.Search(ctx, p.who, onceward.Filter{Tool: name, States: list.states, Limit: 8})
			if err != nil {
				return err
			}
			*list.into = found.Operations
		}
	}
	if v.Health == "good" && len(v.Waiting) > 0 {
		v.Health = "open"
	}
	drill, err := p.opts.Drill()
	if err != nil {
		return err
	}
	if drill != nil {
		v.Drilled = drill.Started
		for _, r := range drill.Rows {
			if r.Tool == string(name) {
				v.Drill = append(v.Drill, r)
			}
		}
	}
	return p.show("tool", string(name), v)
}

// signable says as what the reader may sign the versions that wait: as the owner
// that he is, and as one of the two alone.
func (p *page) signable(held *onceward.HeldVersion, versions []onceward.ContractStanding) map[string][]onceward.SignAs {
	all := map[string][]onceward.SignAs{}
	for i := range versions {
		c := &versions[i]
		if slices.ContainsFunc(c.Signed, func(s onceward.ContractSigning) bool { return s.Against == c.Against && s.Actor == p.who.String() }) {
			continue
		}
		all[c.Version] = slices.DeleteFunc(c.Open(), func(as onceward.SignAs) bool {
			return held != nil && held.Next.Info().Version == c.Version && !held.OwnedBy(p.who, as)
		})
	}
	return all
}

func (p *page) switchTool(what string, do func(onceward.ToolName) error) error {
	name, err := onceward.ParseToolName(p.req.PathValue("name"))
	if err != nil {
		return err
	}
	if err := do(name); err != nil {
		return err
	}
	return p.done("/tools/"+string(name), what)
}

// pauseTool is POST /tools/{name}/pause.
func pauseTool(p *page) error {
	return p.switchTool("paused", func(name onceward.ToolName) error {
		return p.ledger.PauseTool(p.req.Context(), p.who, name, p.field("reason"))
	})
}

// stoppedWithAll reports whether a switch for every tool of the tenant is thrown.
func (p *page) stoppedWithAll() bool {
	_, stopped := p.ledger.Paused(p.who.Tenant, "")
	return stopped
}

// resumeTool is POST /tools/{name}/resume.
func resumeTool(p *page) error {
	what := "resumed"
	if p.stoppedWithAll() {
		what = "resumed_stopped"
	}
	return p.switchTool(what, func(name onceward.ToolName) error {
		_, err := p.ledger.ResumeTool(p.req.Context(), p.who, name)
		return err
	})
}

// stopTenant is POST /switches/stop: every tool of the tenant.
func stopTenant(p *page) error {
	if err := p.ledger.PauseTool(p.req.Context(), p.who, "", p.field("reason")); err != nil {
		return err
	}
	return p.done("/tools", "stopped")
}

// resumeTenant is POST /switches/resume.
func resumeTenant(p *page) error {
	if _, err := p.ledger.ResumeTool(p.req.Context(), p.who, ""); err != nil {
		return err
	}
	return p.done("/tools", "resumed")
}

// signContract is POST /tools/{name}/sign: an owner's yes to a version that waits.
func signContract(p *page) error {
	return p.switchTool("signed", func(name onceward.ToolName) error {
		as, err := onceward.ParseSignAs(p.field("as"))
		if err != nil {
			return err
		}
		_, err = p.ledger.SignContract(p.req.Context(), p.who, name, p.field("version"), as, p.field("reason"))
		return err
	})
}
