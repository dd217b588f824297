package mcpgateway

import (
	"encoding/json"
	"errors"
	"net/http"
)

const methodDiscover = "server/discover"

// aboutTask answers what is asked about a task that is an operation. Any other
// task is the server's own: what only reads was passed to it, and it may have
// answered with one.
func (r *relayed) aboutTask(m *message, body []byte) {
	if !r.modern() {
		r.passOther(m, body)
		return
	}
	if r.req.Header.Get(nameHeader) != m.Params.TaskID {
		r.refuse(http.StatusBadRequest, m.ID, headerMismatch("Mcp-Name does not name the task of the body"))
		return
	}
	if !m.takesTasks() {
		r.refuse(http.StatusOK, m.ID, tasksNotDeclared())
		return
	}
	c := &call{Gateway: r.Gateway, who: r.who, scope: r.upstream.Name, modern: true}
	out, err := c.aboutTask(r.req.Context(), m.Method, m.Params.TaskID)
	switch {
	case errors.Is(err, errNoTask):
		r.passOther(m, body)
	case err != nil:
		r.refuse(http.StatusOK, m.ID, err)
	default:
		reply(r.w, http.StatusOK, resultMessage(m.ID, out))
	}
}

// offerTasks says in a server's description of itself that calls may be answered
// with a task, whether or not it makes some itself.
func offerTasks(raw, id json.RawMessage) json.RawMessage {
	m, result := resultOf(raw, id)
	if result == nil {
		return raw
	}
	capabilities, err := readObject(result.get("capabilities"))
	if err != nil {
		return raw
	}
	extensions := &object{}
	if given := capabilities.get("extensions"); given != nil {
		if extensions, err = readObject(given); err != nil {
			return raw
		}
	}
	if extensions.get(tasksExtension) != nil {
		return raw
	}
	extensions.set(tasksExtension, json.RawMessage("{}"))
	capabilities.set("extensions", extensions.append(nil))
	result.set("capabilities", capabilities.append(nil))
	m.set("result", result.append(nil))
	return m.append(nil)
}
