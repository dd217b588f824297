package httpapi

import (
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// Token is a credential of a program, without its secret.
type Token struct {
	ID         string    `json:"id" doc:"The part of the token between ow_ and the next underscore; no secret."`
	Tenant     string    `json:"tenant"`
	Subject    string    `json:"subject" doc:"Who the bearer is: token:<subject>. Tokens of one subject are one principal."`
	Roles      []string  `json:"roles"`
	Groups     []string  `json:"groups,omitempty" doc:"Teams that it acts for; * is every group."`
	Tools      []string  `json:"tools,omitempty" doc:"What it may act on; absent: every tool."`
	Effects    []string  `json:"effects,omitempty" doc:"The effect classes that it may act on; absent: every class."`
	Note       string    `json:"note,omitempty"`
	CreatedBy  string    `json:"created_by"`
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at"`
	RevokedBy  string    `json:"revoked_by,omitempty"`
	RevokedAt  time.Time `json:"revoked_at,omitzero"`
	LastUsedAt time.Time `json:"last_used_at,omitzero" doc:"To the hour; absent: never."`
}

// TokenRequest asks for a token of the own tenant.
type TokenRequest struct {
	Subject  string    `json:"subject" doc:"Who the bearer is to be."`
	Roles    []string  `json:"roles" doc:"caller, approver, operator, auditor, admin: none that whoever asks has not got."`
	Groups   []string  `json:"groups,omitempty" doc:"Teams that it acts for, of those that whoever asks is in."`
	Tools    []string  `json:"tools,omitempty" doc:"Narrows it to these tools."`
	Effects  []string  `json:"effects,omitempty" doc:"Narrows it to these effect classes."`
	Note     *string   `json:"note,omitempty" doc:"What it is for."`
	Lifetime *duration `json:"lifetime,omitempty" doc:"How long it holds: 2160h (90 days) if absent, 8784h (366 days) at most."`
}

// IssuedToken is a new token with its secret, which is shown this once.
type IssuedToken struct {
	Token  Token  `json:"token"`
	Secret string `json:"secret" doc:"What the bearer sends: Authorization: Bearer ow_… It cannot be read again."`
}

// TokenAnswer is one token.
type TokenAnswer struct {
	Token Token `json:"token"`
}

// TokenPage is a page of tokens by ID, those that do not hold any more included.
type TokenPage struct {
	Tokens []Token `json:"tokens"`
	Next   string  `json:"next,omitempty" doc:"To be given as after; absent on the last page."`
}

// PrincipalAnswer says who asks.
type PrincipalAnswer struct {
	Tenant  string   `json:"tenant"`
	Issuer  string   `json:"issuer"`
	Subject string   `json:"subject"`
	Roles   []string `json:"roles"`
	Groups  []string `json:"groups,omitempty"`
	Tools   []string `json:"tools,omitempty"`
	Effects []string `json:"effects,omitempty"`
}

var tokenRoutes = []route{
	{
		Method: http.MethodPost, Path: "/v1/tokens", Name: "issueToken", handle: issueToken, Action: onceward.ActionManageTokens,
		Summary: "Issue a token of the own tenant. Nobody issues a right that he has not got.",
		Body:    TokenRequest{}, Answers: []answer{{http.StatusCreated, IssuedToken{}, "The token, and its secret this once."}},
	},
	{
		Method: http.MethodGet, Path: "/v1/tokens", Name: "listTokens", handle: listTokens, Action: onceward.ActionReadTokens,
		Summary: "List the tenant's tokens by ID, without secrets.",
		Query: []param{
			{Name: "after", Schema: textSchema(), Doc: "The member next of the page before."},
			limitOf(onceward.TokenPageMax),
		},
		Answers: []answer{{http.StatusOK, TokenPage{}, "A page. A last page may be empty."}},
	},
	{
		Method: http.MethodDelete, Path: "/v1/tokens/{id}", Name: "revokeToken", handle: revokeToken, Action: onceward.ActionManageTokens,
		Summary: "Revoke a token: at once on this replica, within a second on every other. Revoking it again changes nothing.",
		Answers: []answer{{http.StatusOK, TokenAnswer{}, "It is revoked."}}, Refusals: []onceward.Code{onceward.CodeTokenNotFound},
	},
	{
		Method: http.MethodGet, Path: "/v1/principal", Name: "getPrincipal", handle: getPrincipal, Action: onceward.ActionReadSelf,
		Summary: "Say who asks, and with which rights.", Answers: []answer{{http.StatusOK, PrincipalAnswer{}, "Whose credentials these are."}},
	},
}

// ShowToken is a token as answers show it.
func ShowToken(t *onceward.Token) Token {
	return Token{ID: string(t.ID), Tenant: string(t.Tenant), Subject: t.Subject, Roles: stringsOf(t.Scope.Roles), Groups: t.Scope.Groups,
		Tools: stringsOf(t.Scope.Tools), Effects: namesOf(t.Scope.Effects), Note: t.Note, CreatedBy: t.CreatedBy, CreatedAt: t.CreatedAt.UTC(),
		ExpiresAt: t.ExpiresAt.UTC(), RevokedBy: t.RevokedBy, RevokedAt: t.RevokedAt.UTC(), LastUsedAt: t.LastUsedAt.UTC()}
}

// Asked is the request in the root's terms; which of the names may be given is
// its matter. A lifetime of 0 is the usual one.
func (in *TokenRequest) Asked(lifetime time.Duration) (r onceward.TokenRequest, err error) {
	r = onceward.TokenRequest{Subject: in.Subject, Note: text(in.Note), Lifetime: lifetime}
	r.Scope.Groups = in.Groups
	for _, name := range in.Roles {
		r.Scope.Roles = append(r.Scope.Roles, onceward.Role(name))
	}
	for _, name := range in.Tools {
		r.Scope.Tools = append(r.Scope.Tools, onceward.ToolName(name))
	}
	r.Scope.Effects, err = onceward.ParseEffects(in.Effects)
	return r, err
}

// issueToken is POST /v1/tokens.
func issueToken(c *call) error {
	var in TokenRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	lifetime := time.Duration(0)
	if in.Lifetime != nil {
		lifetime = max(time.Duration(*in.Lifetime), 1) // the usual one is had by leaving it out
	}
	r, err := in.Asked(lifetime)
	if err != nil {
		return err
	}
	t, secret, err := c.ledger.IssueToken(c.req.Context(), c.who, r)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusCreated, mediaJSON, &IssuedToken{Token: ShowToken(t), Secret: secret})
	return nil
}

// listTokens is GET /v1/tokens.
func listTokens(c *call) error {
	limit, err := c.limit(onceward.TokenPageMax)
	if err != nil {
		return err
	}
	var after onceward.TokenID
	if s, given := c.param("after"); given {
		if after, err = onceward.ParseTokenID(s); err != nil {
			return err
		}
	}
	all, err := c.ledger.ListTokens(c.req.Context(), c.who, after, limit)
	if err != nil {
		return err
	}
	page := TokenPage{Tokens: make([]Token, len(all))}
	for i := range all {
		page.Tokens[i] = ShowToken(&all[i])
	}
	if len(all) == limit {
		page.Next = string(all[limit-1].ID)
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &page)
	return nil
}

// revokeToken is DELETE /v1/tokens/{id}.
func revokeToken(c *call) error {
	id, err := onceward.ParseTokenID(c.req.PathValue("id"))
	if err != nil {
		return err
	}
	t, err := c.ledger.RevokeToken(c.req.Context(), c.who, id)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &TokenAnswer{Token: ShowToken(t)})
	return nil
}

// getPrincipal is GET /v1/principal.
func getPrincipal(c *call) error {
	p := &c.who
	writeJSON(c.w, http.StatusOK, mediaJSON, &PrincipalAnswer{Tenant: string(p.Tenant), Issuer: p.Issuer, Subject: p.Subject,
		Roles: stringsOf(p.Roles), Groups: p.Groups, Tools: stringsOf(p.Tools), Effects: namesOf(p.Effects)})
	return nil
}
