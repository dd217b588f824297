package storetest

import (
	"bytes"

	"github.com/onceward/onceward"
)

var bodies = []situation{
	{"LargeBodiesAreReadBackWhole", largeBodies},
	{"LargeBodyGoesWithItsPart", largeBodyGoes},
	{"LargeBodyIsReplaced", largeBodyIsReplaced},
	{"LargeBodyShrinksIntoTheRow", largeBodyShrinks},
	{"EmptyBodyIsNotAbsent", emptyBodyIsNotAbsent},
	{"BinaryBytesAreData", binaryBytesAreData},
	{"ReferenceOfAnyBytesIsKept", referenceOfAnyBytes},
}

// noise is n bytes that do not compress to nothing and hold every value.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(n) | 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// aside fails the test unless the side table holds n parts.
func (f *fixture) aside(what string, n int) {
	f.Helper()
	if f.SideBodies != nil {
		f.equal("the parts in the side table "+what, n, f.SideBodies(f.T))
	}
}

func largeBodies(f *fixture) {
	const mebibyte = 1 << 20
	op := f.claimed("k", func(o *onceward.Operation) {
		o.Input, o.Request.Body = noise(mebibyte), noise(mebibyte+1)
	})
	f.store(insert(op))
	f.stored(op)
	end := done(op, func(o *onceward.Operation) { o.Result.Body = noise(mebibyte + 2) })
	f.store(update(end))
	f.stored(end)
	f.lost("a second claim", f.commit(insert(f.claimed("k")))[0], end)
}

func largeBodyGoes(f *fixture) {
	op := f.claimed("k", func(o *onceward.Operation) { o.Input, o.Request.Body = noise(9000), noise(9000) })
	f.store(insert(op))
	f.aside("after the claim", 2)
	end := next(op, func(o *onceward.Operation) { o.Input, o.Request = nil, nil })
	f.store(update(end))
	f.stored(end)
	f.aside("after the end", 0)
}

func largeBodyIsReplaced(f *fixture) {
	op := f.claimed("k", func(o *onceward.Operation) { o.Input, o.Request.Body = noise(9000), noise(8000) })
	f.store(insert(op))
	op = next(op, func(o *onceward.Operation) { o.Input = noise(9001) })
	f.store(update(op))
	f.stored(op)
}

func largeBodyShrinks(f *fixture) {
	op := f.claimed("k", func(o *onceward.Operation) { o.Input = noise(9000) })
	f.store(insert(op))
	op = next(op, func(o *onceward.Operation) { o.Input = noise(90) })
	f.store(update(op))
	f.stored(op)
	f.aside("of a short input", 0)
	op = next(op, func(o *onceward.Operation) { o.Input = noise(9002) })
	f.store(update(op))
	f.stored(op)
}

func emptyBodyIsNotAbsent(f *fixture) {
	for key, c := range map[string]onceward.Result{
		"absent": {Status: 204},
		"empty":  {Status: 200, Body: []byte{}, BodyKept: true},
		"null":   {Status: 200, Body: []byte("null"), BodyKept: true},
		"zero":   {Status: 200, Body: []byte("0"), BodyKept: true},
		"false":  {Status: 200, Body: []byte("false"), BodyKept: true},
	} {
		op := f.claimed(key, func(o *onceward.Operation) {
			o.Input, o.Request.Body = c.Body, c.Body
		})
		f.store(insert(op))
		f.stored(op)
		end := done(op, func(o *onceward.Operation) { o.Result = &c })
		f.store(update(end))
		f.stored(end)
	}
}

func binaryBytesAreData(f *fixture) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for key, body := range map[string][]byte{"short": every, "zeros": make([]byte, 16), "long": bytes.Repeat(every, 20)} {
		op := f.claimed(key, func(o *onceward.Operation) { o.Input, o.Request.Body = body, body })
		f.store(insert(op))
		f.stored(op)
	}
}

func referenceOfAnyBytes(f *fixture) {
	op := f.claimed("k")
	f.store(insert(op))
	end := done(op, func(o *onceward.Operation) {
		o.Reference = "ref\x00\xff"
		o.Attempts[0].Reference = o.Reference
	})
	f.store(update(end))
	f.stored(end)
}
