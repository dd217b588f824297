package console

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// accessView is who may do what here: the reader himself, tokens, people, teams.
type accessView struct {
	Who    onceward.Principal
	Roles  []onceward.Role
	Rights []rightView
	Teams  []teamView

	ReadTokens, MayManage bool
	Tokens                []tokenView
	Effects               []string
	Tools                 []string
	Secret                string // of a token that was issued just now
	Issued                *onceward.Token
	SignIns               []onceward.AuditLine // of the last day; for who may read the trail
	ReadAudit             bool
	Now                   time.Time
}

// rightView is one action, and who may do it.
type rightView struct {
	Action string
	Roles  []onceward.Role
	Mine   bool
}

// teamView is a group that contracts name.
type teamView struct {
	Name    string
	Mine    bool
	Owns    []onceward.ToolName
	Reviews []onceward.ToolName
	Answers []onceward.ToolName // approvals
}

type tokenView struct {
	onceward.Token
	State string // live, expired, revoked
}

// access is GET /access.
func access(p *page) error {
	v, err := p.readAccess()
	if err != nil {
		return err
	}
	return p.show("access", word("access.title"), v)
}

func (p *page) readAccess() (*accessView, error) {
	v := &accessView{Who: p.who, Roles: onceward.AllRoles, ReadTokens: p.may(onceward.ActionReadTokens), MayManage: p.may(onceward.ActionManageTokens),
		ReadAudit: p.may(onceward.ActionReadAudit), Teams: p.teams(), Now: p.now}
	for _, a := range onceward.AllActions() {
		v.Rights = append(v.Rights, rightView{string(a), a.Roles(), p.may(a)})
	}
	for _, c := range onceward.AllEffectClasses {
		v.Effects = append(v.Effects, c.String())
	}
	ctx := p.req.Context()
	if v.ReadTokens {
		tokens, err := p.ledger.ListTokens(ctx, p.who, "", onceward.TokenPageMax)
		if err != nil {
			return nil, err
		}
		for _, t := range tokens {
			state := "live"
			switch {
			case !t.RevokedAt.IsZero():
				state = "revoked"
			case !p.now.Before(t.ExpiresAt):
				state = "expired"
			}
			v.Tokens = append(v.Tokens, tokenView{t, state})
		}
		slices.SortFunc(v.Tokens, func(a, b tokenView) int { return b.CreatedAt.Compare(a.CreatedAt) })
	}
	if v.ReadAudit {
		var err error
		if v.SignIns, err = p.signIns(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// signInPages is how many pages of the trail are read for who signed in lately.
const signInPages = 10

// signIns are the last of a day, newest first. On a day with more events than it
// reads they are the last of those.
func (p *page) signIns() (last []onceward.AuditLine, err error) {
	f := onceward.AuditFilter{From: p.now.Add(-24 * time.Hour), Action: onceward.AuditSignedIn, Events: true, Limit: ListPage}
	for range signInPages {
		found, err := p.ledger.Audit(p.req.Context(), p.who, f)
		if err != nil {
			return nil, err
		}
		last = append(last, found.Lines...)
		last = last[max(0, len(last)-ListPage):]
		if f.After = found.Next; f.After == (onceward.AuditCursor{}) {
			break
		}
	}
	slices.Reverse(last)
	return last, nil
}

// teams are the groups that the contracts in force name, and what of.
func (p *page) teams() []teamView {
	all := map[string]*teamView{}
	team := func(name string) *teamView {
		if all[name] == nil {
			all[name] = &teamView{Name: name, Mine: p.who.In(name)}
		}
		return all[name]
	}
	for _, t := range p.ledger.Tools() {
		i := t.Info()
		for _, owner := range []string{i.BusinessOwner, i.TechnicalOwner} {
			if owner != "" && !slices.Contains(team(owner).Owns, i.Name) {
				team(owner).Owns = append(team(owner).Owns, i.Name)
			}
		}
		if asked := cmp.Or(i.Policy.ReviewTeam, i.TechnicalOwner, i.BusinessOwner); asked != "" && i.Policy.Effect.Writes() {
			team(asked).Reviews = append(team(asked).Reviews, i.Name)
		}
		for _, g := range i.Approvers {
			team(g).Answers = append(team(g).Answers, i.Name)
		}
	}
	var out []teamView
	for _, t := range all {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b teamView) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// issueToken is POST /access/tokens. The answer is the one page that shows the
// secret: there is no address to come back to.
func issueToken(p *page) error {
	r := onceward.TokenRequest{Subject: p.field("subject"), Note: p.field("note")}
	for _, role := range p.req.PostForm["role"] {
		r.Scope.Roles = append(r.Scope.Roles, onceward.Role(role))
	}
	r.Scope.Groups = listed(p.field("groups"))
	for _, name := range listed(p.field("tools")) {
		r.Scope.Tools = append(r.Scope.Tools, onceward.ToolName(name))
	}
	var err error
	if r.Scope.Effects, err = onceward.ParseEffects(p.req.PostForm["effect"]); err != nil {
		return err
	}
	if days := p.field("days"); days != "" {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 366 {
			return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: word("error.days")}
		}
		r.Lifetime = time.Duration(n) * 24 * time.Hour
	}
	t, secret, err := p.ledger.IssueToken(p.req.Context(), p.who, r)
	if err != nil {
		return err
	}
	v, err := p.readAccess()
	if err != nil {
		return err
	}
	v.Secret, v.Issued = secret, t
	return p.show("access", word("access.title"), v)
}

// listed splits a list that was written with commas or blanks.
func listed(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

// revokeToken is POST /access/tokens/{id}/revoke.
func revokeToken(p *page) error {
	id, err := onceward.ParseTokenID(p.req.PathValue("id"))
	if err != nil {
		return err
	}
	if _, err := p.ledger.RevokeToken(p.req.Context(), p.who, id); err != nil {
		return err
	}
	return p.done("/access", "revoked")
}
