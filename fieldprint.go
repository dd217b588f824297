package onceward

// FieldPrint is a short, salted hash of one field of an input. Two lists of
// prints of one operation tell which fields differ, and not what they hold.
type FieldPrint struct {
	// Path names the field, as in "customer.items[3].note".
	Path string
	// Whole says that the print covers an object or array whose own fields are
	// covered one by one as well, or are too many for that.
	Whole bool
	// Sum is the truncated hash.
	Sum [8]byte
}
