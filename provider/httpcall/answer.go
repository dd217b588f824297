package httpcall

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/onceward/onceward"
)

// What http.ReadResponse needs to know of a request: whether the answer has a
// body. Shared and never changed.
var (
	getRequest     = &http.Request{Method: "GET"}
	headRequest    = &http.Request{Method: "HEAD"}
	connectRequest = &http.Request{Method: "CONNECT"}
)

// readAnswer reads the final answer into the evidence. keep says that the
// connection is clean and may be used again. A fault means that no head could
// be read; a body that could not is in the evidence.
func (x *exchange) readAnswer(pc *conn, t *target) (keep bool, f *fault) {
	resp, f := x.readHead(pc, t) //nolint:bodyclose // closing would read on without limit; the connection is kept or cut by what was read
	if f != nil {
		return false, f
	}
	x.ev.Status = resp.StatusCode
	x.location = resp.Header.Get("Location")
	x.ev.Header = x.evidenceHeader(resp.Header)
	if x.opts.Tap != nil {
		x.opts.Tap.Head(resp.StatusCode, onceward.ReplayableHeader(x.ev.Header))
	}
	complete := x.readBody(resp)
	x.ev.Header = x.evidenceHeader(resp.Header) // decoding took fields away
	pc.keep = idleFor(resp.Header.Get("Keep-Alive"))
	return complete && !resp.Close && pc.br.Buffered() == 0, nil
}

// readHead reads heads until a final one.
func (x *exchange) readHead(pc *conn, t *target) (*http.Response, *fault) {
	req := getRequest
	if t.method == "HEAD" {
		req = headRequest
	}
	pc.headCap = headBytesMax
	defer func() { pc.headCap = -1 }()
	for range maxInformational + 1 {
		if _, err := pc.br.Peek(1); err != nil {
			return nil, wireFault(err, x.answered)
		}
		x.answered = true
		x.reached(onceward.ReachFirstByte)
		resp, err := http.ReadResponse(pc.br, req)
		switch {
		case err != nil:
			return nil, wireFault(err, true)
		case resp.ProtoMajor != 1 || resp.StatusCode < 100 || resp.StatusCode > 999:
			return nil, newFault(onceward.ClassProtocol, codeMalformed)
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, newFault(onceward.ClassProtocol, codeUpgrade)
		case resp.StatusCode >= 200:
			return resp, nil
		}
	}
	return nil, newFault(onceward.ClassProtocol, codeMalformed)
}

// readBody reads the body up to the judge limit, decoded, so that bytes and
// headers of the evidence agree. It reports whether the whole body was read.
func (x *exchange) readBody(resp *http.Response) (complete bool) {
	limit := x.opts.JudgeBytes
	if limit <= 0 {
		limit = onceward.DefaultJudgeBytes
	}
	src, hint := io.Reader(resp.Body), resp.ContentLength
	switch encoding := strings.ToLower(strings.Join(resp.Header.Values("Content-Encoding"), ",")); {
	case encoding == "" || encoding == "identity":
	case resp.Body == http.NoBody:
		if resp.ContentLength == 0 {
			resp.Header.Del("Content-Encoding") // nothing is encoded; a HEAD keeps what it asked for
		}
	case encoding == "gzip" || encoding == "x-gzip":
		z := gzips.Get().(*gunzip)
		defer gzips.Put(z)
		z.src, z.open = resp.Body, false
		src, hint = z, -1
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
	default:
		x.bodyFault(newFault(onceward.ClassProtocol, codeEncoding))
		return false
	}
	if x.opts.Tap != nil {
		src = io.TeeReader(src, tapWriter{x.opts.Tap})
	}
	body, tooBig, err := readUpTo(src, limit, hint)
	x.ev.Body, x.ev.BodyTooBig = x.scrub(body), tooBig
	if err != nil {
		x.bodyFault(bodyFault(err))
	}
	return err == nil && !tooBig
}

// tapWriter hands a body on while it is read.
type tapWriter struct{ tap onceward.AnswerTap }

// Write implements io.Writer.
func (w tapWriter) Write(p []byte) (int, error) {
	w.tap.Body(p)
	return len(p), nil
}

func (x *exchange) bodyFault(f *fault) {
	x.ev.BodyCut = true
	x.named(f).record(&x.ev)
}

// bodyFault names why a body ended early.
func bodyFault(err error) *fault {
	f := wireFault(err, true)
	if f.code == codeAnswerCut || f.code == codeMalformed {
		f.code = codeBodyCut
	}
	return f
}

// Bounds of reading a body.
const (
	bodyHintMax  = 64 << 10 // trusted of a Content-Length before bytes came
	bodyFirst    = 512      // first buffer where the length is not told
	bodyLimitMax = 1 << 40
)

// readUpTo reads r to its end, or limit bytes of it; tooBig says that there was
// more. The returned slice is never nil and belongs to the caller.
func readUpTo(r io.Reader, limit, hint int64) (body []byte, tooBig bool, err error) {
	limit = min(limit, bodyLimitMax)
	size := int64(bodyFirst)
	if hint >= 0 {
		size = min(hint, bodyHintMax, limit) + 1 // one more, so that the end is seen without growing
	}
	buf := make([]byte, 0, size)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		room := min(int64(cap(buf)), limit+1)
		n, err := r.Read(buf[len(buf):room])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return buf[:limit], true, nil
		}
		if errors.Is(err, io.EOF) {
			return buf, false, nil
		}
		if err != nil {
			return buf, false, err
		}
	}
}

// gunzip decodes a body; its reader is opened at the first read, and kept.
type gunzip struct {
	src  io.Reader
	z    *gzip.Reader
	open bool
}

var gzips = sync.Pool{New: func() any { return new(gunzip) }}

func (g *gunzip) Read(p []byte) (int, error) {
	if !g.open {
		if err := g.start(); err != nil {
			return 0, err // io.EOF: an empty body
		}
		g.open = true
	}
	return g.z.Read(p)
}

func (g *gunzip) start() (err error) {
	if g.z == nil {
		g.z, err = gzip.NewReader(g.src)
		return err
	}
	return g.z.Reset(g.src)
}
