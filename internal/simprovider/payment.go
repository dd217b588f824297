package simprovider

import (
	"net/http"
	"time"
)

const systemPayments = "payments"

// payment is money taken. The system honours Idempotency-Key on every write
// and forgets it after the retention.
type payment struct {
	ID        string    `json:"id"`
	Reference string    `json:"reference"`
	Amount    int64     `json:"amount"` // in the smallest unit of the currency
	Currency  string    `json:"currency"`
	Status    string    `json:"status"` // paid, partly_refunded, refunded
	Refunds   []refund  `json:"refunds"`
	CreatedAt time.Time `json:"created_at"`
}

type refund struct {
	ID        string    `json:"id"`
	PaymentID string    `json:"payment_id"`
	Reference string    `json:"reference"`
	Amount    int64     `json:"amount"`
	CreatedAt time.Time `json:"created_at"`
}

func (p *payment) left() int64 {
	left := p.Amount
	for _, r := range p.Refunds {
		left -= r.Amount
	}
	return left
}

func (s *Server) createPayment(r *http.Request, body []byte) (request, *answer) {
	var in struct {
		Amount         int64  `json:"amount"`
		Currency       string `json:"currency"`
		Reference      string `json:"reference"`
		AuditReference string `json:"audit_reference"`
	}
	if bad := decode(body, &in); bad != nil {
		return request{}, bad
	}
	if in.Amount <= 0 {
		return request{}, invalid("amount must be a whole number of the currency's smallest unit, above zero")
	}
	if len(in.Currency) != 3 {
		return request{}, invalid("currency must be a code of three letters")
	}
	carryOut := func(b *books, at time.Time) outcome {
		p := payment{ID: b.nextID("P"), Reference: in.Reference, Amount: in.Amount, Currency: in.Currency,
			Status: "paid", Refunds: []refund{}, CreatedAt: at}
		return made(http.StatusCreated, p, p.ID, object{ID: p.ID, Lookup: p.Reference})
	}
	return keyed(r, body, "create", carryOut, in.AuditReference, in.Reference), nil
}

// refundPayment gives back an amount, or all that is left.
func (s *Server) refundPayment(r *http.Request, body []byte) (request, *answer) {
	var in struct {
		Amount         *int64 `json:"amount"`
		Reference      string `json:"reference"`
		AuditReference string `json:"audit_reference"`
	}
	if len(body) > 0 {
		if bad := decode(body, &in); bad != nil {
			return request{}, bad
		}
	}
	if in.Amount != nil && *in.Amount <= 0 {
		return request{}, invalid("amount must be above zero")
	}
	id := r.PathValue("id")
	carryOut := func(b *books, at time.Time) outcome {
		var p payment
		if !b.get(systemPayments, id, &p) {
			return outcome{answer: notFound("payment", id)}
		}
		back := refund{ID: b.nextID("R"), PaymentID: id, Reference: in.Reference, Amount: p.left(), CreatedAt: at}
		if in.Amount != nil {
			back.Amount = *in.Amount
		}
		if back.Amount == 0 || back.Amount > p.left() {
			return outcome{answer: refusal(http.StatusUnprocessableEntity, "amount_exceeds_payment",
				"less than that is left to refund")}
		}
		p.Refunds = append(p.Refunds, back)
		p.Status = "partly_refunded"
		if p.left() == 0 {
			p.Status = "refunded"
		}
		done := made(http.StatusCreated, p, back.ID, object{ID: p.ID, Lookup: p.Reference})
		done.answer = jsonAnswer(http.StatusCreated, back)
		return done
	}
	return keyed(r, body, "refund", carryOut, in.AuditReference, in.Reference), nil
}

// keyed is a write under the Idempotency-Key, where one was sent.
func keyed(r *http.Request, body []byte, action string, carryOut func(*books, time.Time) outcome, names ...string) request {
	key := idempotencyKey(r)
	return request{
		subject:     subjectOf(systemPayments, action, body, append(names, key)...),
		write:       true,
		key:         key,
		fingerprint: fingerprint(r, body),
		carryOut:    carryOut,
	}
}

func (s *Server) findPayments(r *http.Request, _ []byte) (request, *answer) {
	return search(r, systemPayments, "reference")
}

func (s *Server) getPayment(r *http.Request, _ []byte) (request, *answer) {
	return look(systemPayments, "payment", r.PathValue("id")), nil
}
