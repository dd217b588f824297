package mcpcall

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// connect opens a session, over HTTP or with a command of its own.
func (u *upstream) connect(ctx context.Context) (*session, error) {
	if len(u.server.Command) > 0 {
		return u.connectCommand(ctx)
	}
	t := &mcp.StreamableClientTransport{Endpoint: u.server.URL, HTTPClient: &http.Client{Transport: wire{u}}, MaxRetries: -1, DisableStandaloneSSE: true}
	s, err := u.client.implementation(clientOptions()).Connect(ctx, t, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to the MCP server %s: %w", u.name(), err)
	}
	return &session{ClientSession: s, end: func() {}}, nil
}

func (c *Client) implementation(opts *mcp.ClientOptions) *mcp.Client {
	out := mcp.NewClient(&mcp.Implementation{Name: "onceward", Version: c.opts.Version}, opts)
	if err := allowTasks(out); err != nil {
		panic("mcpcall: " + err.Error()) // the SDK has such methods itself now
	}
	return out
}

// wire puts the SDK's HTTP requests on the wire by the provider that was given:
// once each, without redirects of writes, within the egress rules.
//
// Why not http.Transport: it sends some requests a second time by itself, and
// tells nobody how far one got.
type wire struct{ *upstream }

// statusError is an answer that is no success.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("the server answered %d", e.status) }

// RoundTrip implements http.RoundTripper.
func (w wire) RoundTrip(req *http.Request) (*http.Response, error) {
	out, opts, err := w.request(req)
	if err != nil {
		return nil, err
	}
	method, id := messageOf(out.Body)
	nameTask(out, method)
	f := flightOf(req.Context(), method)
	if f != nil && method == "tools/call" {
		return w.fly(req, out, opts, f, id)
	}
	ev := w.client.opts.Wire.Send(req.Context(), out, opts)
	if ev.Status == 0 {
		return nil, fmt.Errorf("send to the MCP server %s: %s", w.name(), ev.ErrorCode)
	}
	if f != nil {
		if result, refusal, ok := responseIn(&ev, id); ok {
			f.answer(result, refusal)
		}
	}
	if ev.Status == 401 || ev.Status == 403 {
		return nil, &statusError{ev.Status}
	}
	return response(req, &ev), nil
}

// request makes the provider's request of the SDK's, with our credentials.
func (w wire) request(req *http.Request) (*onceward.Request, onceward.SendOptions, error) {
	out := &onceward.Request{Method: req.Method, URL: req.URL.String()}
	opts := onceward.SendOptions{Deadline: DefaultDeadline, Hosts: []string{req.URL.Host}}
	for name, values := range req.Header {
		for _, v := range values {
			out.Header = append(out.Header, onceward.HeaderField{Name: name, Value: v})
		}
	}
	w.mu.Lock()
	headers := w.server.Headers
	w.mu.Unlock()
	if headers != nil {
		ours, err := headers()
		if err != nil {
			return nil, opts, err
		}
		out.Header = append(out.Header, ours...)
		for _, h := range ours {
			opts.SecretHeader = append(opts.SecretHeader, h.Name)
		}
	}
	if req.Body == nil {
		return out, opts, nil
	}
	defer req.Body.Close()
	var err error
	out.Body, err = io.ReadAll(req.Body)
	return out, opts, err
}

// fly sends the one tools/call of an attempt. The SDK gets a stream at once, on
// which the answer follows: it must not wait for one tool with all others.
func (w wire) fly(req *http.Request, out *onceward.Request, opts onceward.SendOptions, f *flight, id json.RawMessage) (*http.Response, error) {
	if err := f.start(); err != nil {
		return nil, err
	}
	if f.asTask {
		if o, err := withTask(out.Body); err == nil {
			out.Body = o
		}
	}
	done := make(chan struct{})
	f.mu.Lock()
	f.done = done
	f.mu.Unlock()
	opts.Write, opts.Deadline, opts.NotAfter, opts.JudgeBytes = f.opts.Write, f.opts.Deadline, f.opts.NotAfter, f.opts.JudgeBytes
	opts.BeforeWrite, opts.OnReach = f.opts.BeforeWrite, f.opts.OnReach
	if f.token != "" {
		opts.Tap = &eventTap{flight: f}
	}
	reader, writer := io.Pipe()
	go func() {
		ev := w.client.opts.Wire.Send(context.WithoutCancel(req.Context()), out, opts)
		answer := callEvidence(&ev, id)
		f.mu.Lock()
		f.ev = ev
		f.mu.Unlock()
		close(done)
		if answer != nil {
			_, _ = fmt.Fprintf(writer, "data: %s\n\n", answer) // nobody may be reading any more
		}
		_ = writer.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: reader, ContentLength: -1, Request: req}, nil
}

// callEvidence turns the evidence of an HTTP exchange into that of a call: its
// body is the result, or {"error": …}. A status that is no success stays what it
// is. An answer without the response proves nothing: a stream begins before the
// tool does. It returns the message for the SDK, nil if there is none.
func callEvidence(ev *onceward.Evidence, id json.RawMessage) []byte {
	if ev.Status == 0 {
		return nil
	}
	result, refusal, ok := responseIn(ev, id)
	success := ev.Status >= 200 && ev.Status < 300
	switch {
	case ok:
		ev.BodyCut, ev.ErrorClass, ev.ErrorCode, ev.ErrorText = false, onceward.ClassNone, "", ""
	case success && !ev.BodyTooBig:
		ev.Status = 0
		if ev.ErrorClass == onceward.ClassNone {
			ev.ErrorClass, ev.ErrorCode, ev.ErrorText = onceward.ClassConnection, "stream_ended", "the server's stream ended before its answer"
		}
		return nil
	default:
		return nil
	}
	ev.Body = body(result, refusal)
	ev.Header = kept(ev.Header)
	if success {
		ev.Status = http.StatusOK
	}
	message := map[string]any{"jsonrpc": "2.0", "id": id}
	if refusal != nil {
		message["error"] = refusal
	} else {
		message["result"] = result
	}
	raw, err := json.Marshal(message)
	if err != nil {
		return nil
	}
	return raw
}

// kept are the headers of an answer that say something about a tool's result.
func kept(header []onceward.HeaderField) []onceward.HeaderField {
	out := []onceward.HeaderField{{Name: "Content-Type", Value: "application/json"}}
	for _, h := range header {
		if strings.EqualFold(h.Name, "Retry-After") {
			out = append(out, h)
		}
	}
	return out
}

// messageOf reads method and ID of a message.
func messageOf(raw []byte) (method string, id json.RawMessage) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return "", nil
	}
	return m.Method, m.ID
}

// rpcError is an error of the protocol, as it came.
type rpcError struct{ json.RawMessage }

func (e rpcError) Error() string { return "the server answered with an error of the protocol" }

// responseIn finds the response to a request in an answer: the body itself, or
// an event of a stream.
func responseIn(ev *onceward.Evidence, id json.RawMessage) (result json.RawMessage, refusal error, ok bool) {
	messages := [][]byte{ev.Body}
	for _, h := range ev.Header {
		if strings.EqualFold(h.Name, "Content-Type") && strings.HasPrefix(strings.ToLower(h.Value), "text/event-stream") {
			messages = events(ev.Body)
		}
	}
	for _, raw := range messages {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal(raw, &m) != nil || m.Method != "" || !bytes.Equal(bytes.TrimSpace(m.ID), bytes.TrimSpace(id)) {
			continue
		}
		switch {
		case m.Error != nil:
			return nil, rpcError{m.Error}, true
		case m.Result != nil:
			return m.Result, nil, true
		}
	}
	return nil, nil, false
}

// events reads the data of each whole event of a stream.
func events(stream []byte) [][]byte {
	var out [][]byte
	var data []byte
	for line := range bytes.Lines(stream) {
		if !bytes.HasSuffix(line, []byte{'\n'}) {
			break // cut
		}
		line = bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte{' '})...)
			continue
		}
		if len(line) == 0 && len(data) > 0 {
			out, data = append(out, data), nil
		}
	}
	return out
}

// response shows an answer to the SDK.
func response(req *http.Request, ev *onceward.Evidence) *http.Response {
	res := &http.Response{StatusCode: ev.Status, Status: http.StatusText(ev.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(ev.Body)), ContentLength: int64(len(ev.Body)), Request: req}
	for _, h := range ev.Header {
		res.Header.Add(h.Name, h.Value)
	}
	return res
}

// hostOf is the host of a URL, for the list of hosts that may be talked to.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
