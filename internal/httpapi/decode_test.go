package httpapi

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// requests are the wire types that are read.
var requests = []any{OperationRequest{}, BatchRequest{}, ClaimRequest{}, HeartbeatRequest{}, OutcomeRequest{}, CancelRequest{}, ResolveRequest{}, ReplayRequest{}, ForkRequest{}, PauseRequest{},
	RunRequest{}, FinishRequest{}, DecisionRequest{}, RedecideRequest{}, TokenRequest{}, ApproveRequest{}, RejectRequest{}, AssignRequest{}, CommentRequest{}, BulkRequest{}, BulkFilter{}, SagaRequest{}, SagaStepRequest{}, SagaUndoRequest{}, SagaCancel{}, SagaResolve{}, StopRequest{}, StartRequest{}, SignRequest{}, EventDecision{}, OutboxDecision{}, HoldRequest{}, LiftRequest{}, ShredRequest{}}

func TestEveryBodyOfTheRoutesIsAWireTypeThatIsRead(t *testing.T) {
	t.Parallel()
	known := map[reflect.Type]bool{reflect.TypeFor[rawInput](): true, reflect.TypeFor[rawBytes](): true, reflect.TypeFor[struct{}](): true}
	for _, r := range requests {
		known[reflect.TypeOf(r)] = true
	}
	for i := range routes {
		if b := routes[i].Body; b != nil && !known[reflect.TypeOf(b)] {
			t.Errorf("%s reads %T, which no test throws bytes at", routes[i].Name, b)
		}
	}
}

func TestOptionalMembersTellAbsentFromEmpty(t *testing.T) {
	t.Parallel()
	for _, r := range requests {
		for _, f := range planOf(reflect.TypeOf(r)).fields {
			optional := f.typ.Kind() == reflect.Pointer || f.typ.Kind() == reflect.Slice || f.typ.Kind() == reflect.Map
			if !f.required && !optional {
				t.Errorf("%T: the member %s may be left out, and its type %s cannot tell", r, f.name, f.typ)
			}
			if tag := f.tag.Get("max"); tag != "" && f.max == 0 {
				t.Errorf("%T: the member %s has the limit %q, which is none", r, f.name, tag)
			}
			if f.tag.Get("doc") == "" && f.tag.Get("enum") == "" && f.name != "input" && f.max == 0 && f.name != "status" {
				t.Errorf("%T: the member %s is not explained", r, f.name)
			}
		}
	}
}

// FuzzBody throws bytes at every wire type: whatever is refused is refused with
// a code of the caller's fault and a message that can be shown.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{opsBody + `,"key":"k","run":"r","correlation_id":"c","wait":"5s","on_duplicate":"fail"}`, `{"operations":[` + opsBody + `}],"wait":"1ms"}`,
		`{"outcome":"done","reference":"r","result":{"status":201,"headers":{"A":["b"]},"body":[1]},"error":{"class":"auth","retryable":true},"evidence":{"status":1e2,"note":"n"}}`,
		`{"outcome":null}`, `{"wait":"\u0000"}`, `{"reason":"\ud83d\ude00"}`, `[`, `{"":{}}`, `{"status":1.5}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, r := range requests {
			into := reflect.New(reflect.TypeOf(r))
			err := decodeBody(body, into.Interface())
			if err == nil {
				if !json.Valid(body) {
					t.Fatalf("%T took what is no JSON: %q", r, body)
				}
				continue
			}
			var e *onceward.Error
			if !errors.As(err, &e) || Status(e.Code) >= 500 {
				t.Fatalf("%T refused %q with %v", r, body, err)
			}
			if !utf8.ValidString(e.Message) || strings.ContainsAny(e.Message, "\x00\n\r") || len(e.Message) > 1000 {
				t.Fatalf("%T refused %q with the message %q", r, body, e.Message)
			}
		}
	})
}
