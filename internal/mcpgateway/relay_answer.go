package mcpgateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/onceward/onceward"
)

const eventStream = "text/event-stream"

// reported answers one message: in one piece, or as a stream once there was
// progress to tell. Its methods are called one at a time.
type reported struct {
	w     http.ResponseWriter
	began bool
}

func (s *reported) progress(token any, p onceward.Progress) error {
	if !s.began {
		s.began = true
		s.w.Header().Set("Content-Type", eventStream)
		s.w.Header().Set("Cache-Control", "no-store")
		s.w.WriteHeader(http.StatusOK)
	}
	params := map[string]any{"progressToken": token, "progress": p.Done}
	if p.Message != "" {
		params["message"] = p.Message
	}
	if p.Total > 0 {
		params["total"] = p.Total
	}
	return s.event(mustMarshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
}

func (s *reported) event(data []byte) error {
	if _, err := fmt.Fprintf(s.w, "event: message\ndata: %s\n\n", data); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

func (s *reported) end(answer map[string]json.RawMessage) {
	if !s.began {
		reply(s.w, http.StatusOK, answer)
		return
	}
	_ = s.event(mustMarshal(answer)) // whoever hung up hears nothing
}

// resultMessage answers a message with a result.
func resultMessage(id json.RawMessage, result *object) map[string]json.RawMessage {
	return map[string]json.RawMessage{"jsonrpc": json.RawMessage(`"2.0"`), "id": id, "result": result.append(nil)}
}

// refusalOf answers a message with an error of the protocol.
func refusalOf(id json.RawMessage, err error) map[string]json.RawMessage {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		e = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	return map[string]json.RawMessage{"jsonrpc": json.RawMessage(`"2.0"`), "id": id, "error": mustMarshal(e)}
}

func reply(w http.ResponseWriter, status int, answer map[string]json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(mustMarshal(answer)) // whoever hung up hears nothing
}
