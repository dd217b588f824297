package webserver

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync/atomic"
)

// RequestIDHeader names a request in its answer. A caller may choose the name;
// one that is unusable is replaced.
const RequestIDHeader = "X-Request-Id"

// requestIDBytesMax is the longest request ID that is taken from a caller.
const requestIDBytesMax = 128

// requestIDs gives every request a name: random for the process, counted in it.
type requestIDs struct {
	next   http.Handler
	prefix string
	count  atomic.Uint64
}

func newRequestIDs(next http.Handler) *requestIDs {
	b := make([]byte, 6)
	rand.Read(b) // never fails (crypto/rand)
	return &requestIDs{next: next, prefix: "req_" + hex.EncodeToString(b) + "_"}
}

func (r *requestIDs) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	id := ""
	if given := req.Header[RequestIDHeader]; len(given) == 1 && usableID(given[0]) {
		id = given[0]
	} else {
		id = r.prefix + strconv.FormatUint(r.count.Add(1), 36)
	}
	w.Header()[RequestIDHeader] = []string{id}
	r.next.ServeHTTP(w, req)
}

// usableID reports whether a caller's name can stand in logs and headers.
func usableID(s string) bool {
	if s == "" || len(s) > requestIDBytesMax {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			return false
		}
	}
	return true
}
