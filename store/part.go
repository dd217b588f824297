package store

import "github.com/onceward/onceward"

// partFormat is the first byte of an encoded request or result. Its presence also keeps an empty part apart from none.
const partFormat = 1

func encodeRequest(r *onceward.Request) []byte {
	if r == nil {
		return nil
	}
	e := encoder{buf: make([]byte, 0, len(r.URL)+len(r.Body)+64)}
	e.byte(partFormat)
	e.string(r.Method)
	e.string(r.URL)
	e.header(r.Header)
	e.bytes(r.Body)
	return e.buf
}

func decodeRequest(id onceward.OperationID, b []byte) (*onceward.Request, error) {
	if b == nil {
		return nil, nil
	}
	d := decoder{buf: b}
	d.format(partFormat)
	r := &onceward.Request{Method: d.string(), URL: d.string(), Header: d.header(), Body: d.bytes()}
	return r, d.problem(id, "the request cannot be read")
}

func encodeResult(r *onceward.Result) []byte {
	if r == nil {
		return nil
	}
	e := encoder{buf: make([]byte, 0, len(r.Body)+64)}
	e.byte(partFormat)
	e.int(int64(r.Status))
	e.bool(r.BodyKept)
	e.header(r.Header)
	e.bytes(r.Body)
	return e.buf
}

func decodeResult(id onceward.OperationID, b []byte) (*onceward.Result, error) {
	if b == nil {
		return nil, nil
	}
	d := decoder{buf: b}
	d.format(partFormat)
	r := &onceward.Result{Status: int(d.int()), BodyKept: d.bool(), Header: d.header(), Body: d.bytes()}
	return r, d.problem(id, "the result cannot be read")
}

func encodePrints(prints []onceward.FieldPrint) []byte {
	if len(prints) == 0 {
		return nil
	}
	return onceward.AppendFieldPrints(nil, prints)
}
