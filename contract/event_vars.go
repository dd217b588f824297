package contract

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/onceward/onceward"
)

// eventVars is a delivery, or an event of it, as expressions see it; parts are
// made when asked for. It belongs to one evaluation.
type eventVars struct {
	header []onceward.HeaderField
	body   []byte
	form   bool
	source string
	id     string // of an event in the inbox

	headers ref.Val
	json    ref.Val
	fields  ref.Val
	query   ref.Val
}

// queryHeader is the name under which an event keeps the query of the URL that it
// was delivered to, beside its headers. No header can have it.
const queryHeader = ":query"

// eventFields are the fields of event.
var eventFields = []string{"id", "source", "headers", "json", "form", "text", "query"}

// readable refuses a body that is not of the source's format.
func (e *eventVars) readable() error {
	if e.form {
		if _, err := url.ParseQuery(string(e.body)); err != nil {
			return onceward.Errorf(onceward.CodeInvalidInput, "the delivery is no form")
		}
		return nil
	}
	n, err := onceward.ParseJSON(e.body)
	if err != nil {
		return err
	}
	e.json = valueOf(n)
	return nil
}

func (e *eventVars) resolve(name string) (any, bool) {
	switch name {
	case "event.id":
		return types.String(e.id), true
	case "event.source":
		return types.String(e.source), true
	case "event.headers":
		if e.headers == nil {
			e.headers = newHeaderMap(e.header, false)
		}
		return e.headers, true
	case "event.json":
		return e.value(), true
	case "event.form":
		return e.formValue(), true
	case "event.query":
		return e.queryValue(), true
	case "event.text":
		return types.String(e.body), true
	}
	return nil, false
}

// value is the body as JSON, null of a form.
func (e *eventVars) value() ref.Val {
	if e.json == nil {
		e.json = types.NullValue
		if n, err := onceward.ParseJSON(e.body); err == nil && !e.form {
			e.json = valueOf(n)
		}
	}
	return e.json
}

// formValue is the body's fields, the first value of each name; empty of JSON.
func (e *eventVars) formValue() ref.Val {
	if e.fields == nil {
		body := ""
		if e.form {
			body = string(e.body)
		}
		e.fields = firstValues(body)
	}
	return e.fields
}

// queryValue is the query of the URL, the first value of each name.
func (e *eventVars) queryValue() ref.Val {
	if e.query == nil {
		query := ""
		for _, f := range e.header {
			if f.Name == queryHeader {
				query = f.Value
			}
		}
		e.query = firstValues(query)
	}
	return e.query
}

// firstValues is the first value of each name; empty of what cannot be read.
func firstValues(encoded string) ref.Val {
	fields := map[ref.Val]ref.Val{}
	if values, err := url.ParseQuery(encoded); err == nil {
		for name, list := range values {
			fields[types.String(name)] = types.String(list[0])
		}
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, fields)
}

// timeFrom reads Unix seconds or RFC 3339; the zero time is neither.
func timeFrom(v ref.Val) time.Time {
	text, err := textOf(v)
	if err != nil {
		return time.Time{}
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if seconds <= 0 || seconds > 1e11 {
			return time.Time{}
		}
		return time.UnixMilli(int64(seconds * 1000)).UTC()
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}
