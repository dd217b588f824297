package simprovider

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// requestLog writes one line per request.
type requestLog struct {
	mu sync.Mutex
	w  io.Writer
}

// line tells when, what, about which business, under which fault, and what
// came of it. Bodies, queries and headers stay out.
func (l *requestLog) line(at time.Time, r *http.Request, req request, fault Fault, said string) {
	if l.w == nil {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-4s %s", at.Format("15:04:05.000"), r.Method, r.URL.EscapedPath())
	if req.Reference != "" {
		b.WriteString(" ref=" + plain(req.Reference))
	}
	if fault.Name != "" {
		b.WriteString(" fault=" + fault.Name)
	}
	b.WriteString(" -> " + said + "\n")
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.w, b.String()) // a log that cannot be written must not stop the provider
}

// plain quotes what would break the line.
func plain(s string) string {
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` || strings.Contains(s, " ") {
		return quoted
	}
	return s
}
