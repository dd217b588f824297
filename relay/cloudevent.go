package relay

import (
	"bytes"
	"encoding/json"
	"mime"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// ContentType is that of what [Encode] makes.
const ContentType = "application/cloudevents+json; charset=UTF-8"

// envelope is a CloudEvent 1.0 in its JSON form, structured mode. partitionkey is
// the specification's partitioning extension, traceparent that of tracing; tenant
// and correlationid are extensions of our own.
type envelope struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject,omitempty"`
	Time            string          `json:"time,omitempty"`
	DataContentType string          `json:"datacontenttype,omitempty"`
	Tenant          string          `json:"tenant,omitempty"`
	PartitionKey    string          `json:"partitionkey,omitempty"`
	CorrelationID   string          `json:"correlationid,omitempty"`
	TraceParent     string          `json:"traceparent,omitempty"`
	Data            json.RawMessage `json:"data,omitempty"`
	DataBase64      []byte          `json:"data_base64,omitempty"`
}

// Encode writes an event as a CloudEvent 1.0 in JSON. Data that is JSON stands in
// it as it is; any other is in data_base64.
func Encode(e *onceward.OutboxEvent) ([]byte, error) {
	v := envelope{
		SpecVersion: "1.0", ID: e.ID, Source: e.Source, Type: e.Type, Subject: e.Subject, Time: e.At.UTC().Format(time.RFC3339Nano),
		DataContentType: e.ContentType, Tenant: string(e.Tenant), PartitionKey: e.Key, CorrelationID: e.CorrelationID, TraceParent: e.TraceParent,
	}
	switch {
	case len(e.Data) == 0:
		v.DataContentType = ""
	case isJSON(e.ContentType) && json.Valid(e.Data):
		v.Data = e.Data
	default:
		v.DataBase64 = e.Data
	}
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	if err := w.Encode(v); err != nil {
		return nil, &Refused{Reason: "the event cannot be written as JSON"}
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func isJSON(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (t == "application/json" || strings.HasSuffix(t, "+json"))
}

// Decode reads a CloudEvent that [Encode] wrote, or that another sender wrote in
// the same mode; what it does not know it leaves out. CodeInvalidInput: it is none.
func Decode(b []byte) (onceward.OutboxEvent, error) {
	var v envelope
	if err := json.Unmarshal(b, &v); err != nil || v.SpecVersion != "1.0" || v.ID == "" || v.Source == "" || v.Type == "" {
		return onceward.OutboxEvent{}, onceward.Errorf(onceward.CodeInvalidInput, "the message is no CloudEvent 1.0 in JSON")
	}
	e := onceward.OutboxEvent{
		ID: v.ID, Tenant: onceward.Tenant(v.Tenant), Type: v.Type, Source: v.Source, Subject: v.Subject, Key: v.PartitionKey,
		ContentType: v.DataContentType, Data: v.Data, CorrelationID: v.CorrelationID, TraceParent: v.TraceParent,
	}
	if v.DataBase64 != nil {
		e.Data = v.DataBase64
	}
	if v.Time != "" {
		at, err := time.Parse(time.RFC3339Nano, v.Time)
		if err != nil {
			return onceward.OutboxEvent{}, onceward.Errorf(onceward.CodeInvalidInput, "the time of the CloudEvent is not RFC 3339")
		}
		e.At = at.UTC()
	}
	return e, nil
}
