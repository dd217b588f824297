package webserver

import (
	"io"
	"net/http"
	"time"
)

// bodyDeadline gives the sender of a body a time in which all of it has to
// arrive, and takes the limit off the connection once it has.
//
// Why not http.Server.ReadTimeout: it goes on counting while a handler waits
// for an operation, and its end would look like a caller that hung up.
type bodyDeadline struct {
	next   http.Handler
	within time.Duration
}

func (d *bodyDeadline) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Body == nil || req.Body == http.NoBody || req.ContentLength == 0 {
		d.next.ServeHTTP(w, req)
		return
	}
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(d.within)); err == nil {
		req.Body = &timedBody{ReadCloser: req.Body, control: control}
	}
	d.next.ServeHTTP(w, req)
}

// timedBody takes the deadline off at the body's end. A body that was not read
// to its end keeps it: the rest is bounded too, until the connection goes on to
// its next request, which sets its own.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	ended   bool
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.ended {
		b.ended = true
		if clearing := b.control.SetReadDeadline(time.Time{}); clearing != nil {
			return n, clearing
		}
	}
	return n, err
}
