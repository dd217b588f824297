package store

import (
	"github.com/onceward/onceward"
)

// people encodes what a row knows of those who are asked.
func (e *encoder) people(op *onceward.Operation) {
	if len(op.Supersedes) > 0 {
		e.byte(tagSuperseded)
		e.uint(uint64(len(op.Supersedes)))
		for i := range op.Supersedes {
			e.raw(op.Supersedes[i].Digest[:])
			e.string(op.Supersedes[i].Contract)
		}
	}
	if a := &op.Approval; len(a.Yeses) > 0 || a.RejectedBy != "" || a.EditedBy != "" || a.Reminded != 0 {
		e.byte(tagApproval)
		e.uint(uint64(len(a.Yeses)))
		for _, y := range a.Yeses {
			e.string(y.Actor)
			e.time(y.At)
			e.time(y.Until)
		}
		e.string(a.RejectedBy)
		e.string(a.EditedBy)
		e.uint(uint64(a.Reminded))
	}
	if len(op.Approval.Edited) > 0 {
		e.byte(tagEdited)
		e.uint(uint64(len(op.Approval.Edited)))
		for _, field := range op.Approval.Edited {
			e.string(field)
		}
	}
	if !op.Assigned.IsZero() {
		e.byte(tagAssigned)
		e.string(op.Assigned.To)
		e.string(op.Assigned.Team)
		e.time(op.Assigned.Due)
	}
	if !op.Assigned.At.IsZero() {
		e.byte(tagAssignedAt)
		e.time(op.Assigned.At)
	}
	if len(op.Documents) > 0 {
		e.byte(tagDocuments)
		e.uint(uint64(len(op.Documents)))
		for i := range op.Documents {
			d := &op.Documents[i]
			e.raw(d.Digest[:])
			e.string(d.Name)
			e.string(d.URL)
			e.string(d.MediaType)
			e.int(d.Size)
		}
	}
}

func (d *decoder) superseded() []onceward.Superseded {
	n := d.count()
	if n == 0 {
		return nil
	}
	all := make([]onceward.Superseded, n)
	for i := range all {
		d.fill(all[i].Digest[:])
		all[i].Contract = d.string()
	}
	return all
}

func (d *decoder) approval() onceward.Approval {
	var a onceward.Approval
	if n := d.count(); n > 0 {
		a.Yeses = make([]onceward.Yes, n)
		for i := range a.Yeses {
			a.Yeses[i] = onceward.Yes{Actor: d.string(), At: d.time(), Until: d.time()}
		}
	}
	a.RejectedBy, a.EditedBy = d.string(), d.string()
	a.Reminded = uint32(d.small())
	return a
}

func (d *decoder) edited() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	all := make([]string, n)
	for i := range all {
		all[i] = d.string()
	}
	return all
}

func (d *decoder) documents() []onceward.DocumentRef {
	n := d.count()
	if n == 0 {
		return nil
	}
	all := make([]onceward.DocumentRef, n)
	for i := range all {
		d.fill(all[i].Digest[:])
		all[i].Name, all[i].URL, all[i].MediaType, all[i].Size = d.string(), d.string(), d.string(), d.int()
	}
	return all
}
