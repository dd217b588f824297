package httpapi

import (
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// MasterUse is how many data keys a master key wraps.
type MasterUse struct {
	Master   string `json:"master"`
	DataKeys int    `json:"data_keys"`
}

// DataKey is a data key, without the key.
type DataKey struct {
	ID         string    `json:"id"`
	SubjectID  string    `json:"subject_id,omitempty" doc:"Absent: the tenant's own, which names subjects."`
	Master     string    `json:"master,omitempty" doc:"The master key that wraps it; absent once it is shredded."`
	CreatedAt  time.Time `json:"created_at"`
	ClosedAt   time.Time `json:"closed_at,omitzero" doc:"Since then nothing new is encrypted with it."`
	ShreddedAt time.Time `json:"shredded_at,omitzero"`
}

// KeyList is a page of the tenant's data keys by ID, and the server's master keys.
type KeyList struct {
	Masters  []string    `json:"masters" doc:"The master keys of this server, by name; the first wraps."`
	Uses     []MasterUse `json:"uses" doc:"The master keys that wrap data keys of any tenant."`
	DataKeys []DataKey   `json:"data_keys"`
	Next     string      `json:"next,omitempty" doc:"To be given as after; absent on the last page."`
}

// RotationAnswer is what a rotation did.
type RotationAnswer struct {
	Masters []string    `json:"masters" doc:"The first of them wraps every data key now, unless there are more."`
	Rotated int         `json:"rotated" doc:"Data keys that were wrapped anew just now."`
	More    bool        `json:"more" doc:"Others are left: ask again."`
	Uses    []MasterUse `json:"uses"`
}

// ShredRequest names whose bodies are to become unreadable.
type ShredRequest struct {
	Subject string `json:"subject" doc:"By the name that the contracts' keep.subject gives."`
	Reason  string `json:"reason" max:"reason" doc:"Why; noted in the audit trail."`
}

// ShredAnswer is what became of a subject's keys.
type ShredAnswer struct {
	SubjectID string `json:"subject_id"`
	Shredded  int    `json:"shredded" doc:"Data keys that were removed just now; 0: there was nothing to shred, or it was done before."`
}

var keyRoutes = []route{
	{
		Method: http.MethodGet, Path: "/v1/keys", Name: "listKeys", handle: listKeys, Action: onceward.ActionReadKeys,
		Summary: "List the tenant's data keys and the names of the master keys; never a key itself.",
		Query: []param{
			{Name: "subject", Schema: textSchema(), Doc: "Those of a subject, by name."},
			{Name: "after", Schema: textSchema(), Doc: "The member next of the page before."},
			limitOf(onceward.DataKeyPageMax),
		},
		Answers: []answer{{http.StatusOK, KeyList{}, "A page. A last page may be empty."}}, Refusals: []onceward.Code{onceward.CodeKeysMissing},
	},
	{
		Method: http.MethodPost, Path: "/v1/keys/rotate", Name: "rotateKeys", handle: rotateKeys, Action: onceward.ActionManageKeys,
		Summary: "Wrap data keys by the server's first master key, some thousands at a time, while everything goes on. Once none is left, doing it again changes nothing.",
		Answers: []answer{{http.StatusOK, RotationAnswer{}, "They are, or some are, and there are more."}}, Refusals: []onceward.Code{onceward.CodeKeysMissing},
	},
	{
		Method: http.MethodPost, Path: "/v1/subjects/shred", Name: "shredSubject", handle: shredSubject, Action: onceward.ActionShred,
		Summary: "Make the encrypted bodies of a subject's operations unreadable for good. Key, digest, state and reference stay, so that a repeat is still known.",
		Body:    ShredRequest{}, Answers: []answer{{http.StatusOK, ShredAnswer{}, "They are unreadable: here at once, on other replicas within two seconds."}},
		Refusals: []onceward.Code{onceward.CodeEvidenceRequired, onceward.CodeHeld, onceward.CodeStateForbids, onceward.CodeKeysMissing},
	},
}

func masterUses(uses []onceward.MasterUse) []MasterUse {
	out := make([]MasterUse, len(uses))
	for i, u := range uses {
		out[i] = MasterUse{Master: u.Master, DataKeys: u.Keys}
	}
	return out
}

// listKeys is GET /v1/keys.
func listKeys(c *call) error {
	limit, err := c.limit(onceward.DataKeyPageMax)
	if err != nil {
		return err
	}
	var after onceward.DataKeyID
	if s, given := c.param("after"); given {
		if after, err = onceward.ParseDataKeyID(s); err != nil {
			return err
		}
	}
	subject, _ := c.param("subject")
	masters, uses, err := c.ledger.MasterKeys(c.req.Context(), c.who)
	if err != nil {
		return err
	}
	keys, err := c.ledger.ListDataKeys(c.req.Context(), c.who, subject, after, limit)
	if err != nil {
		return err
	}
	list := KeyList{Masters: append([]string{}, masters...), Uses: masterUses(uses), DataKeys: make([]DataKey, len(keys))}
	for i := range keys {
		k := &keys[i]
		list.DataKeys[i] = DataKey{ID: k.ID.String(), SubjectID: string(k.Subject), Master: k.Master, CreatedAt: k.CreatedAt.UTC(), ClosedAt: k.ClosedAt.UTC(), ShreddedAt: k.ShreddedAt.UTC()}
	}
	if len(keys) == limit {
		list.Next = keys[limit-1].ID.String()
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &list)
	return nil
}

// rotateKeys is POST /v1/keys/rotate.
func rotateKeys(c *call) error {
	r, err := c.ledger.RotateKeys(c.req.Context(), c.who)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &RotationAnswer{Masters: r.Masters, Rotated: r.Rotated, More: r.More, Uses: masterUses(r.Uses)})
	return nil
}

// shredSubject is POST /v1/subjects/shred.
func shredSubject(c *call) error {
	var in ShredRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	s, err := c.ledger.ShredSubject(c.req.Context(), c.who, in.Subject, in.Reason)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &ShredAnswer{SubjectID: string(s.Subject), Shredded: s.Keys})
	return nil
}
