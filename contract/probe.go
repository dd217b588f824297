package contract

import (
	"fmt"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/onceward/onceward"
)

// foundMax is how many found effects are looked at; two are already too many.
const foundMax = 1000

// probeTemplate is a look-up, compiled.
type probeTemplate struct {
	request    *requestTemplate
	found      *program
	reference  *program // nil: the effects have no name
	ours       *program // nil: every found effect is ours
	judgeInput bool     // found, reference or ours look at the input
	ofTool     bool     // it is a call of an MCP server's tool
	readsError bool     // found looks at isError
}

// errNoProbe says that the contract has no look-up.
var errNoProbe = &onceward.Error{Code: onceward.CodeInternal, Op: "render look-up", Message: "the contract has no probe"}

// ProbeRequest is onceward.Tool's.
func (t *Tool) ProbeRequest(op *onceward.Operation) (*onceward.Request, error) {
	if t.probe == nil {
		return nil, errNoProbe
	}
	req, err := t.lookupRequest(op, t.probe.request)
	if err == nil && t.forward != nil {
		t.forward.lookAsCaller(op, req)
	}
	return req, err
}

// JudgeProbe is onceward.Tool's.
func (t *Tool) JudgeProbe(op *onceward.Operation, ev *onceward.Evidence) onceward.ProbeJudgement {
	switch {
	case t.probe == nil:
		return inconclusive(onceward.ClassProtocol, "no_probe", "the contract has no probe")
	case ev.Status == 0:
		j := noAnswer(ev)
		return onceward.ProbeJudgement{Failure: j.Failure}
	case !t.probe.reads(ev.Status):
		return onceward.ProbeJudgement{Failure: statusFailure(ev.Status), RetryAfter: headerRetryAfter(ev)}
	case ev.BodyCut || ev.BodyTooBig:
		return inconclusive(onceward.ClassProtocol, "body_unreadable", "the look-up's answer is not all there")
	}
	if t.probe.ofTool && !t.probe.readsError && failedLook(ev.Body) {
		return inconclusive(onceward.ClassProtocol, "tool_error", "the tool that looks the effect up reported an error")
	}
	v, err := t.operationVariables(op, t.probe.judgeInput)
	if err != nil {
		return inconclusive(onceward.ClassProtocol, "input_unreadable", "the stored input cannot be read")
	}
	v.response = &responseVars{evidence: ev}
	items, err := itemsOf(t.probe.found, v)
	if err != nil {
		return inconclusive(onceward.ClassProtocol, "found_unreadable", "probe.found: "+err.Error())
	}
	found := make([]onceward.FoundEffect, 0, len(items))
	for i, item := range items {
		v.item = item
		effect, err := t.probe.effect(v)
		if err != nil {
			return inconclusive(onceward.ClassProtocol, "found_unreadable", "found effect "+strconv.Itoa(i+1)+": "+err.Error())
		}
		found = append(found, effect)
	}
	return onceward.ProbeJudgement{Conclusive: true, Found: found}
}

func inconclusive(class onceward.ErrorClass, code, message string) onceward.ProbeJudgement {
	return onceward.ProbeJudgement{Failure: onceward.Failure{Class: class, Code: code, Message: cutText(message, messageBytesMax), Retryable: true}}
}

// reads reports whether an answer of that status says anything about what
// exists. What says that we may not see, or not now, never does.
func (p *probeTemplate) reads(status int) bool {
	switch {
	case status >= 200 && status < 300:
		return true
	case status == 401 || status == 403 || status == 408 || status == 429 || status < 200 || status >= 500 || status < 400:
		return false
	}
	return slices.Contains(p.found.uses.response, "status")
}

// itemsOf lists what was found. null is nothing; an object is one effect.
func itemsOf(p *program, v *variables) ([]ref.Val, error) {
	out, err := p.eval(v)
	if err != nil {
		return nil, err
	}
	switch found := out.(type) {
	case types.Null:
		return nil, nil
	case traits.Lister:
		if n, ok := found.Size().(types.Int); !ok || n > foundMax {
			return nil, fmt.Errorf("the list has more than %d entries", foundMax)
		}
		var items []ref.Val
		for it := found.Iterator(); it.HasNext() == types.True; {
			items = append(items, it.Next())
		}
		return items, nil
	case traits.Mapper:
		return []ref.Val{out}, nil
	}
	return nil, fmt.Errorf("it is neither a list nor an object, but a %s", out.Type().TypeName())
}

// effect reads one found effect.
func (p *probeTemplate) effect(v *variables) (onceward.FoundEffect, error) {
	effect := onceward.FoundEffect{Ours: true}
	if p.ours != nil {
		ours, err := p.ours.holds(v)
		if err != nil {
			return effect, fmt.Errorf("ours: %w", err)
		}
		effect.Ours = ours
	}
	if p.reference != nil {
		s, err := p.reference.text(v)
		if err != nil {
			return effect, fmt.Errorf("reference: %w", err)
		}
		if len(s) > ReferenceBytesMax {
			return effect, fmt.Errorf("reference: it is longer than %d bytes", ReferenceBytesMax)
		}
		effect.Reference = s
	}
	return effect, nil
}
