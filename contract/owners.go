package contract

import "cmp"

// owners is who answers for a document, whatever its kind.
type owners struct {
	group
	Owner          text `field:"owner" doc:"Both owners at once."`
	BusinessOwner  text `field:"business_owner" doc:"Who answers for what is written, or decided. Default: owner."`
	TechnicalOwner text `field:"technical_owner" doc:"Who answers for the document. Default: owner."`
}

// both reports whether owner stands beside the two that it would be.
func (o *owners) both() bool { return o.Owner.set && o.BusinessOwner.set && o.TechnicalOwner.set }

// nobody reports whether no owner is named.
func (o *owners) nobody() bool { return !o.Owner.set && !o.BusinessOwner.set && !o.TechnicalOwner.set }

func (o *owners) business() string { return cmp.Or(o.BusinessOwner.value, o.Owner.value) }

func (o *owners) technical() string { return cmp.Or(o.TechnicalOwner.value, o.Owner.value) }
