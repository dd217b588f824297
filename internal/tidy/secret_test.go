package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// secretDeciders are the functions that decide whether somebody knows a secret.
// How long one takes must not tell how much of it was right.
var secretDeciders = map[string]string{
	"token.go (*Token).proves":                              "a token",
	"decision_pin.go (*puttable).holds":                     "the claim of a decision",
	"remote.go (*Ledger).remoteAttempt":                     "the secret of an attempt that its caller performs",
	"internal/webhook/verify.go (*Verifier).Verify":         "the signature of a delivery",
	"internal/webhook/scheme.go twilio":                     "the digest that a signed URL carries",
	"internal/mcpgateway/relay.go (*relayed).takeSession":   "the seal of a session",
	"internal/auth/oidc.go (*SignIn).End":                   "the state of a sign-in",
	"internal/auth/oidc.go (*SignIn).exchange":              "the nonce of a sign-in",
	"internal/auth/form.go (*Authenticator).CheckForm":      "the token of a form",
	"internal/simprovider/exchange.go (*Server).authorized": "the bundled provider's token",
}

// What decides about a secret compares in constant time; that it does is seen by
// what it calls, and each function that does is in the table.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	t.Parallel()
	found, complaints := constantTime(repository(t))
	for _, c := range complaints {
		t.Error(c)
	}
	for name, what := range secretDeciders {
		if !slices.Contains(found, name) {
			t.Errorf("%s decides about %s, and calls neither hmac.Equal nor subtle.ConstantTimeCompare (found: %s)", name, what, strings.Join(found, "; "))
		}
	}
	for _, name := range found {
		if secretDeciders[name] == "" {
			t.Errorf("%s compares in constant time and is not in the table of secretDeciders", name)
		}
	}
}

func TestSecretThatIsComparedByItsBytesIsFound(t *testing.T) {
	t.Parallel()
	const text = "package x\n\nimport (\n\t\"bytes\"\n\t\"crypto/hmac\"\n)\n\n" +
		"func good(a, mac []byte) bool { return hmac.Equal(a, mac) }\n\nfunc bad(mac []byte) bool { return bytes.Equal(mac, nil) }\n\nfunc worse(secretHash, b string) bool { return secretHash == b }\n\nfunc none(secret string) bool { return secret == \"\" }\n"
	found, complaints := constantTime(tree{"x/x.go": text})
	if !slices.Equal(found, []string{"x/x.go good"}) || len(complaints) != 2 || !strings.Contains(complaints[0], "bad") || !strings.Contains(complaints[1], "worse") {
		t.Errorf("found %q, complaints %q", found, complaints)
	}
}

// constantTime lists the functions that compare in constant time, and complains of
// comparisons, by == or bytes.Equal, of what is called a secret, a signature or a
// MAC. Whether one is there at all may be asked.
func constantTime(files tree) (found, complaints []string) {
	parsed, complaints := files.sources()
	for _, s := range parsed {
		if s.test || under(s.dir, "internal/sim") { // the simulation's judge is no decision
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := s.name + " " + funcName(f)
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					selector, ok := n.Fun.(*ast.SelectorExpr)
					switch {
					case !ok:
					case isCall(selector, "hmac", "Equal") || isCall(selector, "subtle", "ConstantTimeCompare"):
						if !slices.Contains(found, name) {
							found = append(found, name)
						}
					case isCall(selector, "bytes", "Equal") && slices.ContainsFunc(n.Args, isSecret):
						complaints = append(complaints, fmt.Sprintf("%s: %s compares a secret by bytes.Equal", s.at(n), name))
					}
				case *ast.BinaryExpr:
					if (n.Op == token.EQL || n.Op == token.NEQ) && (isSecret(n.X) && !isNothing(n.Y) || isSecret(n.Y) && !isNothing(n.X)) {
						complaints = append(complaints, fmt.Sprintf("%s: %s compares a secret by %s", s.at(n), name, n.Op))
					}
				}
				return true
			})
		}
	}
	slices.Sort(found)
	return found, complaints
}

// isSecret goes by the last word of an expression.
func isSecret(e ast.Expr) bool {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name = e.Sel.Name
	}
	name = strings.ToLower(name)
	return slices.Contains([]string{"secret", "secrethash", "mac", "signature", "tokenhash", "password"}, name)
}

// isNothing reports whether an expression is nil, an empty text or a number.
func isNothing(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "nil"
	case *ast.BasicLit:
		return true
	}
	return false
}

func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	switch of := f.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		if id, ok := of.X.(*ast.Ident); ok {
			return "(*" + id.Name + ")." + f.Name.Name
		}
	case *ast.Ident:
		return of.Name + "." + f.Name.Name
	}
	return f.Name.Name
}
