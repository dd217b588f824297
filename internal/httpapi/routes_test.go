package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// rights is who may call what, written down a second time: a route that is not
// here, or whose roles change, fails the test.
var rights = map[string][]onceward.Role{
	"POST /v1/operations":                           {"caller"},
	"POST /v1/operations:batch":                     {"caller"},
	"POST /v1/operations:claim":                     {"caller"},
	"POST /v1/attempts/{id}/heartbeat":              {"caller"},
	"POST /v1/attempts/{id}/outcome":                {"caller"},
	"GET /v1/operations":                            {"caller", "approver", "operator", "auditor"},
	"GET /v1/operations/{id}":                       {"caller", "approver", "operator", "auditor"},
	"POST /v1/operations/{id}/cancel":               {"caller", "operator"},
	"POST /v1/operations/{id}/reconcile":            {"operator"},
	"POST /v1/operations/{id}/resolve":              {"operator"},
	"POST /v1/operations/{id}/fork":                 {"caller"},
	"GET /v1/operations/{id}/replay":                {"operator"},
	"POST /v1/operations/{id}/replay":               {"operator"},
	"POST /v1/sagas":                                {"caller"},
	"GET /v1/sagas":                                 {"caller", "approver", "operator", "auditor"},
	"GET /v1/sagas/{id}":                            {"caller", "approver", "operator", "auditor"},
	"POST /v1/sagas/{id}/cancel":                    {"caller", "operator"},
	"POST /v1/sagas/{id}/resolve":                   {"operator"},
	"POST /v1/runs":                                 {"caller"},
	"GET /v1/runs":                                  {"caller", "approver", "operator", "auditor"},
	"GET /v1/runs/{id}":                             {"caller", "approver", "operator", "auditor"},
	"GET /v1/runs/{id}/resume":                      {"caller", "approver", "operator", "auditor"},
	"POST /v1/runs/{id}/finish":                     {"caller"},
	"PUT /v1/decisions":                             {"caller"},
	"GET /v1/decisions/{id}":                        {"caller", "approver", "operator", "auditor"},
	"POST /v1/decisions/{id}/redecide":              {"operator"},
	"GET /v1/approvals":                             {"caller", "approver", "operator", "auditor"},
	"GET /v1/operations/{id}/approval":              {"caller", "approver", "operator", "auditor"},
	"POST /v1/operations/{id}/approve":              {"approver"},
	"POST /v1/operations/{id}/reject":               {"approver"},
	"POST /v1/operations/{id}/assign":               {"approver", "operator"},
	"GET /v1/reviews":                               {"approver", "operator", "auditor"},
	"GET /v1/operations/{id}/review":                {"approver", "operator", "auditor"},
	"POST /v1/operations/{id}/take":                 {"operator"},
	"POST /v1/operations/{id}/comment":              {"operator"},
	"POST /v1/hooks/{source}":                       nil, // the signature is the credential
	"GET /v1/events":                                {"operator", "auditor"},
	"GET /v1/events/{id}":                           {"operator", "auditor"},
	"POST /v1/events/{id}/redrive":                  {"operator"},
	"POST /v1/events/{id}/dismiss":                  {"operator"},
	"GET /v1/outbox/sinks":                          {"operator", "auditor"},
	"GET /v1/outbox/events":                         {"operator", "auditor"},
	"POST /v1/outbox/redrive":                       {"operator"},
	"POST /v1/outbox/drop":                          {"operator"},
	"POST /v1/documents":                            {"caller"},
	"GET /v1/documents/{sha256}":                    {"caller", "approver", "operator", "auditor"},
	"GET /v1/tools":                                 {"caller", "approver", "operator", "auditor", "admin"},
	"GET /v1/tools/{name}":                          {"caller", "approver", "operator", "auditor", "admin"},
	"POST /v1/tools/{name}/call":                    {"caller"},
	"POST /v1/tools/{name}/pause":                   {"operator"},
	"POST /v1/tools/{name}/resume":                  {"operator"},
	"GET /v1/tools/{name}/versions":                 {"caller", "approver", "operator", "auditor", "admin"},
	"GET /v1/tools/{name}/versions/{version}":       {"caller", "approver", "operator", "auditor", "admin"},
	"POST /v1/tools/{name}/versions/{version}/sign": {"approver"},
	"GET /v1/switches":                              {"caller", "approver", "operator", "auditor", "admin"},
	"POST /v1/switches/stop":                        {"operator"},
	"POST /v1/switches/resume":                      {"operator"},
	"POST /v1/replays":                              {"operator"},
	"GET /v1/replays":                               {"operator"},
	"GET /v1/replays/{id}":                          {"operator"},
	"POST /v1/replays/{id}/cancel":                  {"operator"},
	"GET /v1/holds":                                 {"operator", "auditor", "admin"},
	"POST /v1/holds":                                {"admin"},
	"POST /v1/holds/{id}/lift":                      {"admin"},
	"GET /v1/keys":                                  {"admin", "auditor"},
	"POST /v1/keys/rotate":                          {"admin"},
	"POST /v1/subjects/shred":                       {"admin"},
	"POST /v1/tokens":                               {"admin"},
	"GET /v1/tokens":                                {"admin", "auditor"},
	"DELETE /v1/tokens/{id}":                        {"admin"},
	"GET /v1/principal":                             {"caller", "approver", "operator", "auditor", "admin"},
	"GET /v1/audit":                                 {"auditor"},
	"GET /v1/audit/checkpoints":                     {"auditor"},
	"GET /v1/report":                                {"operator", "auditor"},
	"GET /metrics":                                  {"operator", "auditor"},
	"GET /openapi.json":                             nil,
	"GET /healthz":                                  nil,
	"GET /readyz":                                   nil,
}

func TestEveryRouteIsForTheRolesThatItSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[string]bool{}
	for i := range routes {
		r := &routes[i]
		name := r.Method + " " + r.Path
		seen[name] = true
		want, ok := rights[name]
		if !ok {
			t.Errorf("%s has no line in the table of rights", name)
			continue
		}
		target := strings.NewReplacer("{id}", "op_00000000000000000000000000", "{name}", "no.such").Replace(r.Path)
		for _, role := range onceward.AllRoles {
			w.who = &onceward.Principal{Tenant: "default", Issuer: "test", Subject: "one", Roles: []onceward.Role{role}}
			refused := w.do(r.Method, target, "").body["code"] == "forbidden"
			if allowed := want == nil || slices.Contains(want, role); refused == allowed {
				t.Errorf("%s: the role %s is refused: %v, want %v", name, role, refused, !allowed)
			}
		}
		w.who = &onceward.Principal{Tenant: "default", Issuer: "test", Subject: "nobody"}
		if refused := w.do(r.Method, target, "").body["code"] == "forbidden"; refused != (want != nil) {
			t.Errorf("%s: a principal without roles is refused: %v", name, refused)
		}
	}
	for name := range rights {
		if !seen[name] {
			t.Errorf("the table of rights has %s, which is no route", name)
		}
	}
}

func TestWhoIsNotKnownGetsNothingButHealth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.denied = &onceward.Error{Code: onceward.CodeUnauthenticated, Message: "no token", Hint: "send one"}
	before := w.store.calls()
	r := w.submit(probed, firstInput).want(401, "code", "unauthenticated", "decision", "blocked", "advice", "send one")
	if got := r.header.Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("WWW-Authenticate is %q", got)
	}
	if w.store.calls() != before {
		t.Error("the ledger was asked")
	}
	w.get("/healthz").want(200)
	w.get("/readyz").want(200)
	w.get("/openapi.json").want(200)
}

func TestBodyOfWhoMayNotSendItIsNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.who = &onceward.Principal{Tenant: "default", Issuer: "test", Subject: "auditor", Roles: []onceward.Role{onceward.RoleAuditor}}
	body := &readNoted{}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/operations", body)
	req.ContentLength = 100
	w.send(req).want(403, "code", "forbidden")
	if body.read {
		t.Error("the body was read")
	}
}

func TestBodyThatSaysItIsTooLongIsNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := &readNoted{}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/operations", body)
	req.ContentLength = DefaultBodyBytesMax + 1
	w.send(req).want(413, "code", "too_large")
	if body.read {
		t.Error("the body was read")
	}
}

type readNoted struct{ read bool }

func (b *readNoted) Read([]byte) (int, error) {
	b.read = true
	return 0, fmt.Errorf("read on purpose")
}

func TestUnknownPathIsAProblem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, target := range []string{"/", "/v1", "/v1/", "/v1/operations/", "/v1/operation", "/v1//operations", "/v1/./operations", "/v1/x/../operations",
		"/v1/operations:unknown", "/v1/operations/op_1/unknown", "/v2/operations", "/V1/operations", "/v1/tools//call"} {
		for _, method := range []string{"GET", "POST"} {
			w.do(method, target, "").want(404, "code", "route_not_found")
		}
	}
}

func TestOtherMethodIsRefusedWithTheOnesThatThereAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for target, c := range map[string]struct{ method, allow string }{
		"/v1/operations":           {"DELETE", "GET, HEAD, POST"},
		"/v1/operations:batch":     {"GET", "POST"},
		"/v1/operations/x":         {"PUT", "GET, HEAD"},
		"/v1/operations/x/replay":  {"OPTIONS", "GET, HEAD, POST"},
		"/v1/operations/x/cancel":  {"GET", "POST"},
		"/v1/tools/x/call":         {"PATCH", "POST"},
		"/healthz":                 {"POST", "GET, HEAD"},
		"/v1/attempts/x/heartbeat": {"TRACE", "POST"},
	} {
		r := w.do(c.method, target, "").want(405, "code", "method_not_allowed")
		if got := r.header.Get("Allow"); got != c.allow {
			t.Errorf("%s %s: Allow is %q, want %q", c.method, target, got, c.allow)
		}
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed)
	get, head := w.get("/v1/operations/"+id), w.do(http.MethodHead, "/v1/operations/"+id, "")
	if head.status != 200 || head.header.Get("Content-Length") != get.header.Get("Content-Length") {
		t.Errorf("HEAD answers %d with length %s, GET has %s", head.status, head.header.Get("Content-Length"), get.header.Get("Content-Length"))
	}
}

func TestOpenAPIHasEveryRouteAndNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.get("/openapi.json").want(200, "openapi", "3.1.0")
	if r.raw != string(OpenAPI()) {
		t.Error("what is served is not the document")
	}
	var got []string
	for path, methods := range r.at("paths").(map[string]any) {
		for method := range methods.(map[string]any) {
			got = append(got, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(rights)); !slices.Equal(got, want) {
		t.Errorf("the document has %q, the routes are %q", got, want)
	}
	for _, name := range got {
		method, path, _ := strings.Cut(name, " ")
		req := httptest.NewRequestWithContext(t.Context(), method, strings.NewReplacer("{id}", "x", "{name}", "x").Replace(path), nil)
		if _, pattern := w.api.mux.Handler(req); pattern != name {
			t.Errorf("the mux has %q for %s", pattern, name)
		}
	}
}

func TestOpenAPIReferencesLeadSomewhereAndNamesAreUnique(t *testing.T) {
	t.Parallel()
	var document map[string]any
	if err := json.Unmarshal(OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := range routes {
		if names[routes[i].Name] {
			t.Errorf("two routes are called %s", routes[i].Name)
		}
		names[routes[i].Name] = true
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				var at any = document
				for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
					at = at.(map[string]any)[step]
				}
				if at == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, element := range v {
				walk(element)
			}
		}
	}
	walk(document)
}

func TestEverySchemaOfTheDocumentCompiles(t *testing.T) {
	t.Parallel()
	var document struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Components.Schemas) < 20 {
		t.Fatalf("the document has %d schemas", len(document.Components.Schemas))
	}
	for name := range document.Components.Schemas {
		if _, err := schemaAt("components", "schemas", name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
