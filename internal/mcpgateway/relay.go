package mcpgateway

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/onceward/onceward"
)

// relayHeaders pass from a client to the server behind. A caller's credentials,
// cookies and origin are not among them.
var relayHeaders = []string{"Accept", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Last-Event-Id", "Traceparent", "Tracestate"}

// answerHeaders pass back.
var answerHeaders = []string{"Content-Type", "Cache-Control", "Retry-After", "Allow"}

const sessionHeader = "Mcp-Session-Id"

// server finds a server behind this one.
func (g *Gateway) server(name string) *Upstream {
	for _, s := range g.servers() {
		if s.Name == name {
			return &s
		}
	}
	return nil
}

// relay passes a client's messages on to one server on streamable HTTP, as they
// are. What is governed here does not pass: calls of tools that write become
// operations, and lists of tools are answered with our names, hints and omissions.
func (g *Gateway) relay(w http.ResponseWriter, req *http.Request, who onceward.Principal, u *Upstream) {
	r := &relayed{Gateway: g, w: w, req: req, who: who, upstream: u}
	if !r.takeSession() {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	switch req.Method {
	case http.MethodPost:
	case http.MethodGet, http.MethodDelete: // the session's stream, and its end
		if err := mayRelay(who, ""); err != nil {
			r.opts.Refuse(w, req, err)
			return
		}
		r.pass(nil, nil)
		return
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		r.opts.Refuse(w, req, onceward.Errorf(onceward.CodeMethodNotAllowed, "the protocol has no %s", onceward.Visible(req.Method[:min(len(req.Method), 16)])))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, BodyBytesMax))
	if err != nil {
		http.Error(w, "the body cannot be read, or is too long", http.StatusRequestEntityTooLarge)
		return
	}
	// Why the strict parser: a member that stands twice must not mean one thing
	// here and another there. Nor must a batch hide a call.
	n, err := onceward.ParseJSON(body)
	if err == nil && n.Kind() == onceward.NodeArray {
		r.batch(body)
		return
	}
	if err != nil || n.Kind() != onceward.NodeObject {
		r.refuse(http.StatusBadRequest, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the body is no single message"})
		return
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		r.refuse(http.StatusBadRequest, m.ID, unreadable(err))
		return
	}
	r.post(&m, body)
}

// relayed is one request on its way to a server.
type relayed struct {
	*Gateway
	w        http.ResponseWriter
	req      *http.Request
	who      onceward.Principal
	upstream *Upstream
	session  string // at the server
}

// post decides about one message.
func (r *relayed) post(m *message, body []byte) {
	if err := headersOnce(r.req.Header); err != nil {
		r.refuse(http.StatusBadRequest, m.ID, err)
		return
	}
	if err := versionAgrees(r.req.Header, m); err != nil {
		r.refuse(http.StatusBadRequest, m.ID, err)
		return
	}
	if named := r.req.Header.Get(methodHeader); (named != "" || r.modern()) && named != m.Method && m.Method != "" {
		r.refuse(http.StatusBadRequest, m.ID, headerMismatch("Mcp-Method names another method than the body"))
		return
	}
	if r.modern() {
		if err := r.headersAgree(r.req, m, r.who, r.upstream.Name); err != nil {
			r.refuse(http.StatusBadRequest, m.ID, err)
			return
		}
	}
	switch m.Method {
	case "tools/call":
		r.call(m, body)
	case "tools/list":
		if err := onceward.Authorize(r.who, onceward.ActionReadTools); err != nil {
			r.refuse(http.StatusOK, m.ID, rpcError(err))
			return
		}
		r.pass(body, func(raw json.RawMessage) json.RawMessage { return r.rewrite(raw, m.ID) })
	case methodTaskGet, methodTaskUpdate, methodTaskCancel:
		r.aboutTask(m, body)
	case methodTaskList:
		// Why not: to the server we are one client, so it would list everybody's.
		r.refuse(http.StatusOK, m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "tasks are not listed here: they may be other principals'"})
	case methodDiscover:
		r.pass(body, func(raw json.RawMessage) json.RawMessage { return offerTasks(raw, m.ID) })
	default:
		r.passOther(m, body)
	}
}

// passOther passes what is about no tool, if the principal may send that.
func (r *relayed) passOther(m *message, body []byte) {
	if err := mayRelay(r.who, m.Method); err != nil {
		r.refuse(http.StatusOK, m.ID, rpcError(err))
		return
	}
	r.pass(body, nil)
}

// mayRelay reports whether a principal may send what is about no tool: opening
// a session is anybody's, what the server has beside tools is a caller's whose
// credentials are not narrowed to tools.
func mayRelay(who onceward.Principal, method string) error {
	if method == "" || method == "initialize" || method == "ping" || method == methodDiscover || strings.HasPrefix(method, "notifications/") {
		return onceward.Authorize(who, onceward.ActionReadTools)
	}
	if err := onceward.Authorize(who, onceward.ActionSubmit); err != nil {
		return err
	}
	if len(who.Tools)+len(who.Effects) > 0 {
		return onceward.Errorf(onceward.CodeForbidden, "the credentials are narrowed to tools, and %s is about none", onceward.Visible(method[:min(len(method), 64)]))
	}
	return nil
}

// call makes a call an operation, or passes it if it only reads.
func (r *relayed) call(m *message, body []byte) {
	if !m.asks() {
		r.refuse(http.StatusBadRequest, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a call has an ID, a text or a number: without one its answer would be lost"})
		return
	}
	if named := r.req.Header.Get(nameHeader); (named != "" || r.modern()) && named != m.Params.Name {
		r.refuse(http.StatusBadRequest, m.ID, headerMismatch("Mcp-Name names another tool than the body"))
		return
	}
	if err := onceward.Authorize(r.who, onceward.ActionSubmit); err != nil && m.Params.Name != StatusTool {
		r.refuse(http.StatusOK, m.ID, rpcError(err))
		return
	}
	c := &call{Gateway: r.Gateway, name: m.Params.Name, args: m.Params.Arguments, who: r.who, meta: m.Params.Meta, header: r.req.Header, scope: r.upstream.Name,
		modern: r.modern(), tasks: r.modern() && m.takesTasks()}
	if o := r.find(r.req.Context(), r.who, r.upstream.Name, m.Params.Name); o != nil && o.pass {
		r.pass(body, nil)
		return
	}
	s := &reported{w: r.w}
	if token := m.Params.Meta["progressToken"]; token != nil && strings.Contains(r.req.Header.Get("Accept"), eventStream) {
		c.report = func(_ context.Context, p onceward.Progress) error { return s.progress(token, p) }
	}
	out, err := c.answer(r.req.Context())
	if err != nil {
		s.end(refusalOf(m.ID, err))
		return
	}
	if c.modern && out.get("resultType") == nil {
		out.put("resultType", "complete")
	}
	s.end(resultMessage(m.ID, out))
}

// modern reports whether the request is of the era without sessions.
func (r *relayed) modern() bool { return r.req.Header.Get(versionHeader) >= versionModern }

func (r *relayed) refuse(status int, id json.RawMessage, err error) {
	reply(r.w, status, refusalOf(id, err))
}

// pass sends a message on and streams the answer back. edit changes each message
// of the answer; nil: none.
func (r *relayed) pass(body []byte, edit func(json.RawMessage) json.RawMessage) {
	out, ours, err := r.onwardRequest(r.req.Context(), body)
	if err != nil {
		r.opts.Refuse(r.w, r.req, onceward.Errorf(onceward.CodeProviderUnreachable, "the MCP server %s cannot be asked", r.upstream.Name))
		return
	}
	res, err := r.opts.Onward.Do(out, ours)
	if err != nil {
		r.log.Warn("an MCP server cannot be reached", "server", r.upstream.Name, "error", err)
		r.opts.Refuse(r.w, r.req, onceward.Errorf(onceward.CodeProviderUnreachable, "the MCP server %s cannot be reached", r.upstream.Name))
		return
	}
	defer res.Body.Close()
	for _, name := range answerHeaders {
		if v := res.Header.Get(name); v != "" {
			r.w.Header().Set(name, v)
		}
	}
	if id := res.Header.Get(sessionHeader); id != "" {
		r.w.Header().Set(sessionHeader, id+"."+r.sealed(id))
	}
	r.w.WriteHeader(res.StatusCode)
	if edit == nil {
		r.stream(res.Body)
		return
	}
	r.edited(res, edit)
}

// onwardRequest is what is sent on, and the credentials of ours to send it with.
func (r *relayed) onwardRequest(ctx context.Context, body []byte) (out *http.Request, ours []onceward.HeaderField, err error) {
	if out, err = http.NewRequestWithContext(ctx, r.req.Method, r.upstream.URL, bytes.NewReader(body)); err != nil {
		return nil, nil, err
	}
	for _, name := range relayHeaders {
		if v := r.req.Header.Get(name); v != "" {
			out.Header.Set(name, v)
		}
	}
	if r.req.Method == http.MethodPost {
		// Why not the caller's: a charset there would have the server read other
		// words than those that were let pass.
		out.Header.Set("Content-Type", "application/json")
	}
	for name, values := range r.req.Header {
		if strings.HasPrefix(name, paramHeaderPrefix) {
			out.Header[name] = values
		}
	}
	if r.session != "" {
		out.Header.Set(sessionHeader, r.session)
	}
	if r.upstream.Headers != nil {
		ours, err = r.upstream.Headers()
	}
	return out, ours, err
}

// stream copies as it comes.
func (r *relayed) stream(body io.Reader) {
	flush := http.NewResponseController(r.w)
	_ = flush.Flush() // the head goes out before the first event
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if _, failed := r.w.Write(buf[:n]); failed != nil {
				return
			}
			_ = flush.Flush()
		}
		if err != nil {
			return
		}
	}
}

// editBytesMax is the longest list of tools that is edited.
const editBytesMax = 16 << 20

// edited copies an answer whose messages are changed.
func (r *relayed) edited(res *http.Response, edit func(json.RawMessage) json.RawMessage) {
	body := io.LimitReader(res.Body, editBytesMax)
	if !strings.HasPrefix(res.Header.Get("Content-Type"), eventStream) {
		raw, err := io.ReadAll(body)
		if err == nil {
			_, _ = r.w.Write(edit(raw))
		}
		return
	}
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			var one bytes.Buffer // an event's data is one line
			if json.Compact(&one, edit(bytes.TrimSpace(data))) == nil {
				line = append(append([]byte("data: "), one.Bytes()...), '\n')
			}
		}
		if len(line) > 0 {
			_, _ = r.w.Write(line)
		}
		if err != nil {
			break
		}
	}
	_ = http.NewResponseController(r.w).Flush() // the connection may be gone
}

// resultOf reads the message that answers a request, and its result; nil: it is
// another one, or has none.
func resultOf(raw, id json.RawMessage) (m, result *object) {
	m, err := readObject(raw)
	if err != nil || !bytes.Equal(bytes.TrimSpace(m.get("id")), bytes.TrimSpace(id)) || m.get("result") == nil {
		return nil, nil
	}
	if result, err = readObject(m.get("result")); err != nil {
		return nil, nil
	}
	return m, result
}

// rewrite puts what is offered here in place of a server's list. Its other
// members stay as they are.
func (r *relayed) rewrite(raw json.RawMessage, id json.RawMessage) json.RawMessage {
	m, result := resultOf(raw, id)
	if result == nil {
		return raw
	}
	var page []json.RawMessage
	if json.Unmarshal(result.get("tools"), &page) != nil {
		return raw
	}
	offered := map[string]*object{}
	for _, o := range r.offers(r.req.Context(), r.who, r.upstream.Name) {
		offered[o.tool] = o.definition()
	}
	kept := []json.RawMessage{}
	for _, tool := range page {
		var named struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(tool, &named) == nil && offered[named.Name] != nil {
			kept = append(kept, offered[named.Name].append(nil))
		}
	}
	if result.get("nextCursor") == nil {
		kept = append(kept, statusDefinition().append(nil))
	}
	if result.get("cacheScope") != nil {
		result.put("cacheScope", "private")
	}
	result.put("tools", kept)
	m.set("result", result.append(nil))
	return m.append(nil)
}

// takeSession reads the session of a request, which is of use only to whoever
// opened it. It is true where there is none.
func (r *relayed) takeSession() bool {
	given := r.req.Header.Get(sessionHeader)
	if given == "" {
		return true
	}
	i := strings.LastIndexByte(given, '.')
	if i < 0 || !hmac.Equal([]byte(given[i+1:]), []byte(r.sealed(given[:i]))) {
		return false
	}
	r.session = given[:i]
	return true
}

// sealed binds a server's session to a principal and to this process.
func (r *relayed) sealed(session string) string {
	h := hmac.New(sha256.New, r.seal[:])
	for _, part := range []string{r.upstream.Name, string(r.who.Tenant), r.who.String(), session} {
		_, _ = h.Write(append([]byte(part), 0)) // never fails (hash.Hash)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
