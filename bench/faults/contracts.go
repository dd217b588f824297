package main

import (
	"fmt"
	"strings"
)

// class is an effect class, with the system of the bundled provider that has it.
type class struct {
	name string
	tool string
	spec string // of its contract, besides what all have
	// input of the intention with this reference, in this wording.
	input func(ref, words string) string
	// write is the same without a contract: method, path, body. The key is the
	// guard's own and goes into the header where the provider takes one.
	write func(ref, words string) (method, path, body string)
	// look finds the effect by the business's reference; empty: the provider has no look-up.
	look func(ref string) string
}

var classes = []class{
	{
		name: "keyed_write", tool: "payments.create", spec: keyedSpec,
		input: func(ref, _ string) string { return fmt.Sprintf(`{"ref":%q}`, ref) },
		write: func(ref, _ string) (string, string, string) {
			return "POST", "/payments", fmt.Sprintf(`{"amount":4200,"currency":"EUR","reference":%q,"audit_reference":%q}`, ref, ref)
		},
		look: func(ref string) string { return "/payments?reference=" + ref },
	},
	{
		name: "conditional_write", tool: "contacts.upsert", spec: conditionalSpec,
		input: func(ref, words string) string { return fmt.Sprintf(`{"ref":%q,"words":%q}`, ref, words) },
		write: func(ref, words string) (string, string, string) {
			return "PUT", "/contacts/by-external-id/" + ref, fmt.Sprintf(`{"name":%q,"audit_reference":%q}`, words, ref)
		},
		look: func(ref string) string { return "/contacts/by-external-id/" + ref },
	},
	{
		name: "probed_write", tool: "tickets.create", spec: ticketSpec,
		input: func(ref, words string) string { return fmt.Sprintf(`{"ref":%q,"words":%q}`, ref, words) },
		write: func(ref, words string) (string, string, string) {
			return "POST", "/tickets", fmt.Sprintf(`{"title":%q,"external_id":%q,"audit_reference":%q}`, words, ref, ref)
		},
		look: func(ref string) string { return "/tickets?external_id=" + ref },
	},
	{
		name: "probed_write, look-up by message ID", tool: "mail.send", spec: mailSpec,
		input: func(ref, words string) string { return fmt.Sprintf(`{"ref":%q,"words":%q}`, ref, words) },
		write: func(ref, words string) (string, string, string) {
			return "POST", "/mail", fmt.Sprintf(`{"to":"a@example.com","subject":%q,"body":"b","message_id":%q,"audit_reference":%q}`, words, ref, ref)
		},
		look: func(ref string) string { return "/mail?message_id=" + ref },
	},
	{
		name: "unsafe_write", tool: "fax.send", spec: faxSpec,
		input: func(ref, words string) string { return fmt.Sprintf(`{"ref":%q,"words":%q}`, ref, words) },
		write: func(ref, words string) (string, string, string) {
			return "POST", "/fax", fmt.Sprintf(`{"to":"+491234567","document":%q,"reference":%q}`, words, ref)
		},
	},
}

// contracts are the classes as contracts, with times short enough to run many
// trials: what matters is their order, not their length.
func contracts(origin string) string {
	var all strings.Builder
	for _, c := range classes {
		fmt.Fprintf(&all, contractHead, c.tool)
		all.WriteString(c.spec)
		all.WriteString(contractTail)
	}
	return strings.NewReplacer("SIM", origin, "DEADLINE", deadline.String(), "SETTLE", settle.String()).Replace(all.String())
}

// What all of them have.
const (
	contractHead = `---
apiVersion: onceward/v1
kind: Tool
metadata: {name: %s, owner: bench}
spec:
  input: {type: object, required: [ref], properties: {ref: {type: string}, words: {type: string}}}
  key: [input.ref]
  lease: 2s
  horizon: 12h
`
	contractTail = `  retry: {max_attempts: 5, backoff: {initial: 100ms, max: 1s}}
`
)

// What each has of its own; the last lines are outcomes.
const (
	keyedSpec = `  effect: keyed_write
  provider_key: {in: header, name: Idempotency-Key, window: 24h, window_kind: guaranteed, on_repeat: replay}
  request:
    method: POST
    url: SIM/payments
    json: {amount: 4200, currency: EUR, reference: '${operation.provider_key}', audit_reference: '${input.ref}'}
    deadline: DEADLINE
  outcomes:
    - {when: 'response.status == 409 && response.json.code == "idempotency_in_progress"', is: in_progress}
    - {when: 'response.status == 429', is: not_done, class: rate_limited}
    - {when: 'response.status == 201', is: done, reference: '${response.json.id}'}
`
	conditionalSpec = `  effect: conditional_write
  volatile: [words]
  condition: {by: upsert, field: external_id}
  request:
    method: PUT
    url: SIM/contacts/by-external-id/${input.ref}
    json: {name: '${input.words}', audit_reference: '${input.ref}'}
    deadline: DEADLINE
  outcomes:
    - {when: 'response.status == 429', is: not_done, class: rate_limited}
    - {when: 'response.status in [200, 201]', is: done, reference: '${response.json.id}'}
`
	ticketSpec = `  effect: probed_write
  volatile: [words]
  request:
    method: POST
    url: SIM/tickets
    json: {title: '${input.words}', external_id: '${operation.provider_key}', audit_reference: '${input.ref}'}
    deadline: DEADLINE
  probe: {request: {url: 'SIM/tickets?external_id=${operation.provider_key}'}, found: '${response.json.items}', reference: '${item.id}', settle: SETTLE, deadline: DEADLINE}
  outcomes:
    - {when: 'response.status == 429', is: not_done, class: rate_limited}
    - {when: 'response.status == 201', is: done, reference: '${response.json.id}'}
`
	mailSpec = `  effect: probed_write
  volatile: [words]
  request:
    method: POST
    url: SIM/mail
    json: {to: a@example.com, subject: '${input.words}', body: b, message_id: '${operation.provider_key}', audit_reference: '${input.ref}'}
    deadline: DEADLINE
  probe: {request: {url: 'SIM/mail?message_id=${operation.provider_key}'}, found: '${response.json.items}', reference: '${item.id}', settle: SETTLE, deadline: DEADLINE}
  outcomes:
    - {when: 'response.status == 429', is: not_done, class: rate_limited}
    - {when: 'response.status == 202', is: done, reference: '${response.json.id}'}
`
	faxSpec = `  effect: unsafe_write
  volatile: [words]
  on_unknown: review
  request:
    method: POST
    url: SIM/fax
    json: {to: '+491234567', document: '${input.words}', reference: '${input.ref}'}
    deadline: DEADLINE
  outcomes:
    - {when: 'response.status == 429', is: not_done, class: rate_limited}
    - {when: 'response.status == 200 && response.json.accepted == true', is: done}
`
)
