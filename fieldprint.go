package onceward

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

const (
	// FieldPrintsMax is how many fields of an input get a print of their own.
	// An input with more leaves is printed by its top-level members only, and
	// what is more than that is covered by one last print.
	FieldPrintsMax = 64
	// OtherFields is the path of that last print.
	OtherFields = "(other fields)"

	fieldPrintsFormat = 1 // first byte of the binary form
	fieldPrintDomain  = "onceward/field-print/v1\n"
	wholeInput        = "$" // path of an input that is one value, or an empty array
)

// FieldPrint is a short, salted hash of one field of an input. Two lists of
// prints of one operation tell which fields differ without their values.
//
// The salt is the operation's ID, so that equal values in two operations have
// different prints. That hides no value that can be guessed: who knows the ID
// can try every amount or every word. Prints are as confidential as the ledger.
type FieldPrint struct {
	// Path names the field, as in "customer.items[3].note".
	Path string
	// Top says that the field is a member (or element) of the input itself. The
	// prints behind it that are not Top are of the leaves inside it, if any.
	Top bool
	// Sum is the truncated hash of path and canonical value.
	Sum [8]byte
}

// FieldPrints hashes the fields of an input that are not volatile: its
// top-level members in canonical order and, as long as there are no more than
// [FieldPrintsMax] leaves in all, the leaves inside each. A leaf is a value
// without material members or elements.
func FieldPrints(id OperationID, input *Node, volatile []Path) []FieldPrint {
	leaves := countLeaves(input, volatile, FieldPrintsMax+1)
	var space [256]byte
	p := printer{salt: id, fine: leaves <= FieldPrintsMax, buf: space[:0], prints: make([]FieldPrint, 0, min(input.Len()+1, leaves, FieldPrintsMax))}
	if input.Len() == 0 && input.kind != NodeObject {
		p.add([]byte(wholeInput), true, input, nil)
		return p.prints
	}
	var path []byte
	for at, i := range input.children() {
		c := input.child(i)
		rest, removed := c.volatileWithin(at, volatile)
		if removed {
			continue
		}
		if len(p.prints) == FieldPrintsMax-1 && !p.fine && at < input.Len()-1 {
			p.addOthers(input, at, volatile)
			break
		}
		path = appendPathTo(path[:0], c, at)
		p.add(path, true, c, rest)
		if p.fine {
			p.leaves(path, c, rest)
		}
	}
	return p.prints
}

// printer collects the prints of one input.
type printer struct {
	salt   OperationID
	fine   bool // leaves get prints, too
	prints []FieldPrint
	buf    []byte
}

// add prints one field.
func (p *printer) add(path []byte, top bool, n *Node, volatile []Path) {
	p.start(path)
	p.buf = n.AppendWithout(p.buf, volatile)
	p.finish(shortPath(path), top)
}

// addOthers prints the top-level fields from the at-th on as one.
func (p *printer) addOthers(input *Node, at int, volatile []Path) {
	p.start([]byte(OtherFields))
	for ; at < input.Len(); at++ {
		c := input.child(input.children()[at])
		rest, removed := c.volatileWithin(at, volatile)
		if removed {
			continue
		}
		p.buf = c.AppendWithout(append(appendPathTo(p.buf, c, at), ':'), rest)
		p.buf = append(p.buf, ',')
	}
	p.finish(OtherFields, true)
}

func (p *printer) start(path []byte) {
	p.buf = append(append(p.buf[:0], fieldPrintDomain...), p.salt[:]...)
	p.buf = appendFramed(p.buf, path)
}

func (p *printer) finish(path string, top bool) {
	sum := sha256.Sum256(p.buf)
	p.prints = append(p.prints, FieldPrint{Path: path, Top: top, Sum: [8]byte(sum[:8])})
}

// leaves prints the leaves inside a field.
func (p *printer) leaves(path []byte, n *Node, volatile []Path) {
	for at, i := range n.children() {
		c := n.child(i)
		rest, removed := c.volatileWithin(at, volatile)
		if removed {
			continue
		}
		inner := appendPathTo(bytes.Clone(path), c, at)
		before := len(p.prints)
		p.leaves(inner, c, rest)
		if len(p.prints) == before { // a scalar, or nothing that is material inside
			p.add(inner, false, c, rest)
		}
	}
}

// appendPathTo appends the step from a container to n, its at-th child.
func appendPathTo(dst []byte, n *Node, at int) []byte {
	if n.name == (span{}) {
		return appendPathIndex(dst, at)
	}
	return appendPathName(dst, n.canonicalName())
}

// countLeaves counts the leaves that are not volatile, up to a limit.
func countLeaves(n *Node, volatile []Path, limit int) int {
	count := 0
	for at, i := range n.children() {
		c := n.child(i)
		if rest, removed := c.volatileWithin(at, volatile); !removed {
			count += countLeaves(c, rest, limit-count)
		}
		if count >= limit {
			break
		}
	}
	return max(count, 1)
}

// DifferingFields compares the prints of two inputs of one operation and
// returns the paths that differ, were added or were removed, sorted and each
// once. A field is named as exactly as both lists allow. Nothing is returned if
// the inputs are equal but for volatile fields.
func DifferingFields(a, b []FieldPrint) []string {
	left, right := groupByTop(a), groupByTop(b)
	_, aCut := left[OtherFields]
	_, bCut := right[OtherFields]
	var paths []string
	for path, l := range left {
		r, both := right[path]
		switch {
		case both:
			paths = append(paths, differingInside(l, r)...)
		case bCut:
			paths = append(paths, OtherFields) // b may hold it there
		default:
			paths = append(paths, path)
		}
	}
	for path := range right {
		if _, both := left[path]; both {
			continue
		}
		if aCut {
			path = OtherFields
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// groupByTop splits prints into top-level fields, each with its leaves behind it.
func groupByTop(prints []FieldPrint) map[string][]FieldPrint {
	groups := make(map[string][]FieldPrint)
	for from := 0; from < len(prints); {
		to := from + 1
		for to < len(prints) && !prints[to].Top {
			to++
		}
		groups[prints[from].Path] = prints[from:to]
		from = to
	}
	return groups
}

// differingInside compares one top-level field, given with its leaves.
func differingInside(a, b []FieldPrint) []string {
	if a[0].Sum == b[0].Sum {
		return nil
	}
	if len(a) == 1 || len(b) == 1 {
		return []string{a[0].Path}
	}
	sums := make(map[string][8]byte, len(a))
	for _, leaf := range a[1:] {
		sums[leaf.Path] = leaf.Sum
	}
	var paths []string
	for _, leaf := range b[1:] {
		if sum, both := sums[leaf.Path]; !both || sum != leaf.Sum {
			paths = append(paths, leaf.Path)
		}
		delete(sums, leaf.Path)
	}
	for path := range sums {
		paths = append(paths, path)
	}
	return paths
}

// AppendFieldPrints appends the compact binary form of prints. A path takes
// only what differs from the path before it.
func AppendFieldPrints(dst []byte, prints []FieldPrint) []byte {
	size := 1 + binary.MaxVarintLen16
	for i := range prints {
		size += 2*binary.MaxVarintLen16 + len(prints[i].Path) + len(prints[i].Sum)
	}
	dst = append(slices.Grow(dst, size), fieldPrintsFormat)
	dst = binary.AppendUvarint(dst, uint64(len(prints)))
	before := ""
	for _, p := range prints {
		shared := 0
		for shared < len(before) && shared < len(p.Path) && before[shared] == p.Path[shared] {
			shared++
		}
		head := uint64(shared) << 1
		if p.Top {
			head |= 1
		}
		dst = binary.AppendUvarint(dst, head)
		dst = appendFramed(dst, []byte(p.Path[shared:]))
		dst = append(dst, p.Sum[:]...)
		before = p.Path
	}
	return dst
}

// ParseFieldPrints reads what [AppendFieldPrints] wrote; no bytes are no
// prints. Anything else is an [Error] with CodeLedgerCorrupt.
func ParseFieldPrints(b []byte) ([]FieldPrint, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := framedReader{rest: b[1:]}
	count := r.uvarint()
	if b[0] != fieldPrintsFormat || r.broken || count > 2*FieldPrintsMax {
		return nil, Errorf(CodeLedgerCorrupt, "stored field prints have an unknown form")
	}
	prints := make([]FieldPrint, 0, count)
	before := ""
	for range count {
		head := r.uvarint()
		suffix := r.framed()
		sum := r.take(8)
		shared := head >> 1
		if r.broken || shared > uint64(len(before)) {
			return nil, Errorf(CodeLedgerCorrupt, "stored field prints are cut or broken")
		}
		before = before[:shared] + string(suffix)
		prints = append(prints, FieldPrint{Path: before, Top: head&1 == 1, Sum: [8]byte(sum)})
	}
	if len(r.rest) > 0 {
		return nil, Errorf(CodeLedgerCorrupt, "stored field prints have data behind them")
	}
	return prints, nil
}

// appendFramed appends a length and the bytes, so that no two lists of framed
// values give the same bytes.
func appendFramed[T string | []byte](dst []byte, s T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// framedReader reads framed values; broken is set once something is missing.
type framedReader struct {
	rest   []byte
	broken bool
}

func (r *framedReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.broken, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *framedReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.broken, r.rest = true, nil
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *framedReader) framed() []byte { return r.take(r.uvarint()) }
