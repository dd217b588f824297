package onceward

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of tokens.
const (
	// TokenLifetime is how long a token holds if nobody says.
	TokenLifetime = 90 * 24 * time.Hour
	// TokenLifetimeMax is the longest that a token may hold.
	TokenLifetimeMax = 366 * 24 * time.Hour
	// TokenPageMax is the longest page of a list of tokens.
	TokenPageMax = 500
	// ScopeMax is how many groups, tools or effect classes a token may name.
	ScopeMax = 100
	// SubjectBytesMax is the longest subject, group or note.
	SubjectBytesMax = 200

	tokenPrefix      = "ow_"
	tokenIDBytes     = 10
	tokenSecretBytes = 32
	// tokenUsedStep is how coarse the time of the last use is: it costs a write.
	tokenUsedStep = time.Hour
)

// tokenChars is the length of the one form that a presented token has: prefix,
// ID, an underscore, secret.
var tokenChars = len(tokenPrefix) + tokenIDChars + 1 + base32hex.EncodedLen(tokenSecretBytes)

var tokenIDChars = base32hex.EncodedLen(tokenIDBytes)

// TokenID names a token. It is no secret: lists, logs and the token itself show it.
type TokenID string

// ParseTokenID reads an ID as lists show it; anything else has CodeInvalidRequest.
func ParseTokenID(s string) (TokenID, error) {
	if !lowerBase32(s, tokenIDBytes) {
		return "", &Error{Code: CodeInvalidRequest, Op: "read token ID", Message: fmt.Sprintf("a token's ID is %d characters of lower-case base32hex", tokenIDChars),
			Hint: "onceward token list shows the IDs; it is the part between ow_ and the next underscore"}
	}
	return TokenID(s), nil
}

// lowerBase32 reports whether s is the one spelling of that many bytes.
func lowerBase32(s string, bytes int) bool {
	if len(s) != base32hex.EncodedLen(bytes) {
		return false
	}
	b, err := base32hex.DecodeString(s)
	return err == nil && base32hex.EncodeToString(b) == s
}

// Scope is what a token may do: roles, and what narrows them.
type Scope struct {
	Roles   []Role        // at least one
	Groups  []string      // teams that it acts for
	Tools   []ToolName    // empty: every tool
	Effects []EffectClass // empty: every effect class
}

// Token is the credential of a program, as it is stored: without its secret.
type Token struct {
	ID         TokenID
	Tenant     Tenant
	Subject    string // of the principal that it makes; tokens of one subject are one principal
	Scope      Scope
	Note       string            // what it is for, in words
	Hash       [sha256.Size]byte // of the secret
	CreatedBy  string            // the principal that issued it
	CreatedAt  time.Time
	ExpiresAt  time.Time
	RevokedBy  string    // empty: it is not revoked
	RevokedAt  time.Time // zero: it is not revoked
	LastUsedAt time.Time // to the hour; zero: never
}

// Principal is who the bearer is.
func (t *Token) Principal() Principal {
	return Principal{Tenant: t.Tenant, Issuer: IssuerToken, Subject: t.Subject,
		Roles: t.Scope.Roles, Groups: t.Scope.Groups, Tools: t.Scope.Tools, Effects: t.Scope.Effects,
		Credential: Credential{Token: t.ID, EndsAt: t.ExpiresAt}}
}

// TokenStore keeps tokens.
type TokenStore interface {
	// PutToken stores a new token, and notes the events in the same transaction;
	// CodeWriteConflict if its ID is taken.
	PutToken(ctx context.Context, t Token, notes ...AuditEvent) error
	// LoadToken reads one; nil if there is none.
	LoadToken(ctx context.Context, id TokenID) (*Token, error)
	// ListTokens returns at most limit tokens of a tenant after an ID, by ID.
	ListTokens(ctx context.Context, t Tenant, after TokenID, limit int) ([]Token, error)
	// RevokeToken notes who revoked a token of the tenant, unless somebody did
	// before, and returns it as it is stored now; nil if there is none. Where it
	// ends the token it notes the events in the same transaction.
	RevokeToken(ctx context.Context, t Tenant, id TokenID, by string, at time.Time, notes ...AuditEvent) (*Token, error)
	// UseToken moves the time of a token's last use forward.
	UseToken(ctx context.Context, id TokenID, at time.Time) error
	// AnyToken reports whether there is a token, of whatever tenant, whatever
	// became of it.
	AnyToken(ctx context.Context) (bool, error)
}

// TokenRequest asks for a token.
type TokenRequest struct {
	Subject  string
	Scope    Scope
	Note     string
	Lifetime time.Duration // 0: TokenLifetime
}

// NewToken makes a token of the issuer's tenant, and its secret, which exists
// nowhere else: show it once.
// Nobody issues more rights than he has (CodeForbidden), and each token ends.
//
// Why SHA-256, and no slow hash: a slow hash makes it dear to guess what people
// choose. This secret is 256 random bits, which nobody guesses at any price; a
// slow hash would only let a stranger make the server work.
func NewToken(by Principal, r TokenRequest, now time.Time) (t Token, secret string, err error) {
	if r.Lifetime == 0 {
		r.Lifetime = TokenLifetime
	}
	if err := r.check(by.Tenant); err != nil {
		return Token{}, "", err
	}
	if err := mayIssue(by, &r); err != nil {
		return Token{}, "", err
	}
	t = Token{ID: TokenID(base32hex.EncodeToString(randomBytes(tokenIDBytes))), Tenant: by.Tenant, Subject: r.Subject, Scope: r.Scope, Note: r.Note,
		CreatedBy: by.String(), CreatedAt: now, ExpiresAt: now.Add(r.Lifetime)}
	secret = base32hex.EncodeToString(randomBytes(tokenSecretBytes))
	t.Hash = hashSecret(t.ID, secret)
	return t, tokenPrefix + string(t.ID) + "_" + secret, nil
}

func hashSecret(id TokenID, secret string) [sha256.Size]byte {
	return sha256.Sum256([]byte("onceward/token/v1\n" + string(id) + "\n" + secret))
}

// mayIssue refuses a token that would have a right which its issuer has not.
func mayIssue(by Principal, r *TokenRequest) error {
	if err := Authorize(by, ActionManageTokens); err != nil {
		return err
	}
	missing := ""
	for _, role := range r.Scope.Roles {
		if !by.Has(role) {
			missing = "the role " + string(role)
		}
	}
	for _, g := range r.Scope.Groups {
		if !by.In(g) {
			missing = "the group " + g
		}
	}
	switch {
	case wider(by.Tools, r.Scope.Tools):
		missing = "more tools than " + inWords(by.Tools)
	case wider(by.Effects, r.Scope.Effects):
		missing = "more effect classes than " + effectsInWords(by.Effects)
	}
	if missing == "" {
		return nil
	}
	return &Error{Code: CodeForbidden, Op: "issue token", Message: "a token cannot be given " + missing + ": whoever issues it has not got that",
		Hint: "ask somebody who has it, or issue the token beside the ledger: onceward token create --db"}
}

// wider reports whether a narrowing lets through what another does not.
func wider[T comparable](own, asked []T) bool {
	if len(own) == 0 {
		return false
	}
	return len(asked) == 0 || slices.ContainsFunc(asked, func(v T) bool { return !slices.Contains(own, v) })
}

func (r *TokenRequest) check(t Tenant) error {
	invalid := func(format string, args ...any) error {
		return &Error{Code: CodeInvalidRequest, Op: "issue token", Message: fmt.Sprintf(format, args...)}
	}
	if _, err := ParseTenant(string(t)); err != nil {
		return err
	}
	switch {
	case r.Subject == "" || !plainText(r.Subject):
		return invalid("a token's subject is 1 to %d bytes of text in one line", SubjectBytesMax)
	case !plainText(r.Note):
		return invalid("a token's note is at most %d bytes of text in one line", SubjectBytesMax)
	case len(r.Scope.Roles) == 0:
		return invalid("a token needs a role: %s", inWords(AllRoles))
	case r.Lifetime < time.Minute || r.Lifetime > TokenLifetimeMax:
		return invalid("a token holds between a minute and %d days", TokenLifetimeMax/(24*time.Hour))
	}
	return r.Scope.check(invalid)
}

func (s *Scope) check(invalid func(string, ...any) error) error {
	if most := max(len(s.Roles), len(s.Groups), len(s.Tools), len(s.Effects)); most > ScopeMax {
		return invalid("a token names at most %d roles, groups, tools or effect classes", ScopeMax)
	}
	for _, role := range s.Roles {
		if _, err := ParseRole(string(role)); err != nil {
			return err
		}
	}
	for _, g := range s.Groups {
		if g == "" || !plainText(g) {
			return invalid("a group is 1 to %d bytes of text in one line", SubjectBytesMax)
		}
	}
	for _, tool := range s.Tools {
		if _, err := ParseToolName(string(tool)); err != nil {
			return err
		}
	}
	for _, c := range s.Effects {
		if !slices.Contains(AllEffectClasses, c) {
			return invalid("there is no such effect class")
		}
	}
	s.Roles, s.Groups, s.Tools, s.Effects = once(s.Roles), once(s.Groups), once(s.Tools), once(s.Effects)
	return nil
}

// once is the sorted set of the values, nil if there are none.
func once[T interface{ ~string | ~uint8 }](values []T) []T {
	if len(values) == 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// plainText reports whether s can stand in a list and in a log line.
func plainText(s string) bool {
	return len(s) <= SubjectBytesMax && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) && strings.TrimSpace(s) == s
}

// splitToken takes a presented token apart. The secret is text from a stranger
// until its hash matches.
func splitToken(presented string) (id TokenID, secret string, ok bool) {
	rest, ok := strings.CutPrefix(presented, tokenPrefix)
	if !ok || len(presented) != tokenChars || rest[tokenIDChars] != '_' {
		return "", "", false
	}
	id, secret = TokenID(rest[:tokenIDChars]), rest[tokenIDChars+1:]
	return id, secret, lowerBase32(string(id), tokenIDBytes) && lowerBase32(secret, tokenSecretBytes)
}

// proves reports whether the secret is the token's, in a time that does not
// depend on how much of it is right.
func (t *Token) proves(secret string) bool {
	hash := hashSecret(t.ID, secret)
	return subtle.ConstantTimeCompare(hash[:], t.Hash[:]) == 1
}

// refusal says why a token that is genuine does not hold at a time; nil if it does.
func (t *Token) refusal(at time.Time) error {
	switch {
	case !t.RevokedAt.IsZero():
		return unauthenticated("the token "+string(t.ID)+" was revoked", "ask an admin for another")
	case !at.Before(t.ExpiresAt):
		return unauthenticated("the token "+string(t.ID)+" expired at "+t.ExpiresAt.UTC().Format(time.RFC3339), "ask an admin for another")
	}
	return nil
}

func unauthenticated(message, hint string) error {
	return &Error{Code: CodeUnauthenticated, Op: "authenticate", Message: message, Hint: hint}
}
