package mcpgateway

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rawResult is a result that goes out as it stands.
//
// Why not the SDK's type: its fields are those of one version of the protocol,
// and whatever else an upstream server answers would be lost.
type rawResult struct {
	mcp.ResultBase // what the SDK adds to _meta
	object         *object
}

// MarshalJSON implements json.Marshaler.
func (r *rawResult) MarshalJSON() ([]byte, error) {
	for name, value := range r.Meta {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if err := r.object.setMeta(name, raw); err != nil {
			return nil, err
		}
	}
	return r.object.append(nil), nil
}

// object is a JSON object whose members keep their order and bytes.
type object struct{ members []objectMember }

type objectMember struct {
	name  string
	value json.RawMessage
}

// readObject reads a JSON object, without looking into its members.
func readObject(raw []byte) (*object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("it is no JSON object")
	}
	o := &object{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read a member's name: %w", err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("read a member's value: %w", err)
		}
		text, _ := name.(string) // a name is always a text
		o.members = append(o.members, objectMember{text, value})
	}
	_, err := dec.Token()
	return o, err
}

// get returns a member's bytes, nil if there is none.
func (o *object) get(name string) json.RawMessage {
	for i := range o.members {
		if o.members[i].name == name {
			return o.members[i].value
		}
	}
	return nil
}

// set puts a member in its place, or behind the others.
func (o *object) set(name string, value json.RawMessage) {
	for i := range o.members {
		if o.members[i].name == name {
			o.members[i].value = value
			return
		}
	}
	o.members = append(o.members, objectMember{name, value})
}

// drop takes a member out.
func (o *object) drop(name string) {
	for i := range o.members {
		if o.members[i].name == name {
			o.members = append(o.members[:i], o.members[i+1:]...)
			return
		}
	}
}

// put is set with a value that is marshalled. What is put always can be.
func (o *object) put(name string, value any) { o.set(name, mustMarshal(value)) }

// setMeta puts a member into _meta.
func (o *object) setMeta(name string, value json.RawMessage) error {
	meta := &object{}
	if raw := o.get("_meta"); raw != nil && string(raw) != "null" {
		var err error
		if meta, err = readObject(raw); err != nil {
			return fmt.Errorf("read _meta: %w", err)
		}
	}
	meta.set(name, value)
	o.set("_meta", meta.append(nil))
	return nil
}

// addContent appends a text to content.
func (o *object) addContent(text string) error {
	item, err := marshal(textContent(text))
	if err != nil {
		return err
	}
	list := bytes.TrimSpace(o.get("content"))
	switch {
	case len(list) == 0 || string(list) == "null":
		list = nil
	case list[0] != '[' || list[len(list)-1] != ']':
		return fmt.Errorf("content is no array")
	default:
		list = list[1 : len(list)-1]
	}
	out := append([]byte{'['}, list...)
	if len(bytes.TrimSpace(list)) > 0 {
		out = append(out, ',')
	}
	o.set("content", append(append(out, item...), ']'))
	return nil
}

func (o *object) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range o.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, _ := marshal(m.name) // a text always marshals
		dst = append(append(append(dst, name...), ':'), m.value...)
	}
	return append(dst, '}')
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}

// content is one text in an answer.
type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textContent(text string) content { return content{"text", text} }
