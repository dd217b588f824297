package simprovider

import (
	"fmt"
	"net/http"
	"strings"
)

// index is the page that tells a person what there is, with lines to paste.
func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	base := "http://" + r.Host
	page := strings.ReplaceAll(indexPage, "BASE", base)
	var list strings.Builder
	for _, b := range behaviours {
		fmt.Fprintf(&list, "  %-20s %s\n", b.name, b.doc)
	}
	page = strings.Replace(page, "BEHAVIOURS\n", list.String(), 1)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(page)) // the reader may be gone
}

const indexPage = `A provider to practise on. Five business systems, each with another promise
about repeated requests, and each able to fail on demand. It counts what
arrived and what was really done, so that it can judge whoever writes to it.

SYSTEMS

  tickets   no keys; a repeat is a second ticket; searchable by external_id
    curl -d '{"title":"Printer on fire","external_id":"evt-1"}' BASE/tickets
    curl 'BASE/tickets?external_id=evt-1'
    curl BASE/tickets/T-1
    curl -X POST BASE/tickets/T-1/close              # a second time: 409 already_closed

  payments  honours Idempotency-Key; searchable by reference
    curl -H 'Idempotency-Key: k1' -d '{"amount":1200,"currency":"EUR","reference":"order-7"}' BASE/payments
    curl 'BASE/payments?reference=order-7'
    curl -H 'Idempotency-Key: k2' -d '{"amount":200}' BASE/payments/P-1/refund

  mail      no keys; cannot be unsent; searchable by message_id
    curl -d '{"to":"ada@example.com","subject":"Hello","message_id":"<1@example.com>"}' BASE/mail
    curl -G --data-urlencode 'message_id=<1@example.com>' BASE/mail

  contacts  upsert under your own ID; If-None-Match: * only creates; automations run on every upsert
    curl -X PUT -d '{"name":"Ada"}' BASE/contacts/by-external-id/ada
    curl BASE/contacts/by-external-id/ada

  fax       nothing at all: no key, no ID, no search
    curl -d '{"to":"+15550100","document":"Contract"}' BASE/fax

WHAT REALLY HAPPENED

    curl 'BASE/effects?reference=evt-1'
    curl BASE/effects/summary

  The reference is external_id, reference, message_id, the contact's ID, or for
  a fax its number and a digest of the document. A write may carry another one,
  "audit_reference": then the count goes by that, and the others are aliases.
  count = effects committed, requests = writes that arrived on the wire,
  reads = lookups, pending = late commits still to come.

FAULTS

  for one request, by header
    curl -H 'Sim-Fault: error_after_commit;status=502' -d '{"title":"x","external_id":"evt-2"}' BASE/tickets
  for the next ones, by script
    curl -d '{"system":"tickets","match":{"reference":"evt-3"},
              "faults":[{"fault":"drop_after_commit"},{"fault":"none"},"slow;delay=500ms"]}' BASE/faults
    match: reference, action, nth (count from the script's start), on (write, read, any)
  by rate
    curl -d '{"system":"payments","rate":{"drop_after_commit":0.1,"late_commit;delay=3s":0.05},"seed":7}' BASE/faults
  and no more
    curl BASE/faults
    curl -X DELETE BASE/faults

  Every fault understands delay=; what else, it says.

BEHAVIOURS

CREDENTIALS

    curl -d '{"token":"new-secret"}' BASE/credentials   # "" asks for none
`
