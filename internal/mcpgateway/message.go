package mcpgateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// message is a JSON-RPC message of a client.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		TaskID    string
		Arguments json.RawMessage
		Meta      map[string]any
	}
}

// UnmarshalJSON implements json.Unmarshaler: member names are matched exactly.
//
// Why not struct tags: encoding/json takes "Method" for "method", and the later
// of both counts. A server that goes by the exact name would then run a call that
// was let pass here for another message; and one that is made with encoding/json
// the other way round. So a member in other letters refuses the message.
func (m *message) UnmarshalJSON(raw []byte) error {
	o, err := readObject(raw)
	if err != nil {
		return err
	}
	m.ID = o.get("id")
	if err := exactly(o, "id", "method", "params", "result", "error"); err != nil {
		return err
	}
	if err := unmarshalMember(o, "method", &m.Method); err != nil {
		return err
	}
	params := o.get("params")
	if len(params) == 0 || string(params) == "null" {
		return nil
	}
	if o, err = readObject(params); err != nil {
		return fmt.Errorf("read params: %w", err)
	}
	if err := exactly(o, "name", "arguments", "taskId", "_meta"); err != nil {
		return err
	}
	m.Params.Arguments = o.get("arguments")
	return errors.Join(unmarshalMember(o, "name", &m.Params.Name), unmarshalMember(o, "taskId", &m.Params.TaskID), unmarshalMember(o, "_meta", &m.Params.Meta))
}

// exactly refuses an object in which one of the names stands twice, or in other
// letters.
func exactly(o *object, names ...string) error {
	for _, name := range names {
		there := 0
		for i := range o.members {
			switch got := o.members[i].name; {
			case got == name:
				there++
			case strings.EqualFold(got, name):
				return fmt.Errorf("the member %s is written in other letters", name)
			}
		}
		if there > 1 {
			return fmt.Errorf("the member %s stands twice", name)
		}
	}
	return nil
}

// asks reports whether the message is a request, which alone is answered: its ID
// is a text or a number.
func (m *message) asks() bool {
	return len(m.ID) > 0 && (m.ID[0] == '"' || m.ID[0] == '-' || m.ID[0] >= '0' && m.ID[0] <= '9')
}

// unmarshalMember reads a member, if it is there.
func unmarshalMember(o *object, name string, into any) error {
	raw := o.get(name)
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
