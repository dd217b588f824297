package onceward

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Limits of supporting documents.
const (
	// DocumentBytesMax is the largest document.
	DocumentBytesMax = 8 << 20
	// DocumentsMax is how many documents may support one request.
	DocumentsMax = 16
	// DocumentNameBytesMax is the longest name of a document.
	DocumentNameBytesMax = 255
	// DocumentURLBytesMax is the longest URL of a linked document.
	DocumentURLBytesMax = 2 << 10
	// MediaTypeBytesMax is the longest media type.
	MediaTypeBytesMax = 255
)

// Document is a text, picture or other file that supports a request, or what an
// approver was shown. It is named by its content, inside one tenant.
type Document struct {
	Tenant    Tenant
	Digest    Digest // SHA-256 of Body
	MediaType string
	Body      []byte
	Actor     string // who added it first
	CreatedAt time.Time

	Concealed // media type and body; what an approver was shown is in clear unless DataKey says otherwise
}

// DocumentRef is a document as a request names it: by the SHA-256 of its bytes.
type DocumentRef struct {
	Digest    Digest
	Name      string
	URL       string // where it is fetched from; empty: it was uploaded before
	MediaType string // of an uploaded one
	Size      int64  // of an uploaded one, in bytes
}

// What encrypted documents are stored under.
const (
	// SealedMediaType is of what an approver was shown.
	SealedMediaType = "application/vnd.onceward.sealed"
	// SealedDocumentMediaType is of any other document.
	SealedDocumentMediaType = "application/vnd.onceward.sealed-document"
)

// DocumentStore keeps documents. Its methods are safe for concurrent use and
// return the errors of [Store].
type DocumentStore interface {
	// PutDocument stores a document, and notes the events in the same transaction;
	// one that is there already stays as it is, and nothing is noted.
	PutDocument(ctx context.Context, d Document, notes ...AuditEvent) error
	// LoadDocument reads one; nil if the tenant has none of that content.
	LoadDocument(ctx context.Context, t Tenant, d Digest) (*Document, error)
	// NameDocument notes that a request named a document at the time; false: the
	// tenant has none of that content.
	NameDocument(ctx context.Context, t Tenant, d Digest, at time.Time) (bool, error)
	// AgedDocuments returns at most limit documents of every tenant after a place,
	// added and last named before the time, oldest first, without bodies. What
	// approvers were shown is none of them: it goes with its operation.
	AgedDocuments(ctx context.Context, after DocumentCursor, before time.Time, limit int) ([]Document, error)
	// DropDocument removes a document that nobody named at the time or later, and
	// notes the events in the same transaction; false: it was named, or is gone.
	DropDocument(ctx context.Context, t Tenant, d Digest, before time.Time, notes ...AuditEvent) (bool, error)
}

// DocumentCursor is a place in the order (CreatedAt, Tenant, Digest).
type DocumentCursor struct {
	CreatedAt time.Time
	Tenant    Tenant
	Digest    Digest
}

// DocumentRequest is a document that is to be kept.
type DocumentRequest struct {
	Principal Principal
	MediaType string
	Body      []byte
	Subject   string // whose data it is; empty: the tenant's
}

// AddDocument keeps a document, so that requests can name it. Adding the same
// bytes again makes them be kept anew, whose they are stays; what was shredded is
// put in its place again.
func (l *Ledger) AddDocument(ctx context.Context, in DocumentRequest) (*Document, error) {
	if err := Authorize(in.Principal, ActionAddDocuments); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	d := Document{Tenant: in.Principal.Tenant, Digest: sha256.Sum256(in.Body), MediaType: in.MediaType, Body: in.Body, Actor: in.Principal.String(), CreatedAt: l.clock.now()}
	var err error
	if d.Subject, err = l.subjectNamed(ctx, d.Tenant, in.Subject); err != nil {
		return nil, err
	}
	there, err := l.known(ctx, &d)
	if err != nil || there != nil {
		return there, err
	}
	note := NewAuditEvent(AuditEvent{Tenant: d.Tenant, Actor: d.Actor, Action: AuditDocumentAdded, Subject: d.Digest.String(), Detail: in.MediaType})
	if err := l.store.PutDocument(ctx, d, note); err != nil {
		return nil, fmt.Errorf("add document %s: %w", d.Digest, err)
	}
	return &d, nil
}

// known is the document of these bytes that is there already, which is kept anew;
// nil if there is none that can be read.
func (l *Ledger) known(ctx context.Context, d *Document) (*Document, error) {
	there, err := l.store.LoadDocument(ctx, d.Tenant, d.Digest)
	if err != nil || there == nil {
		return nil, err
	}
	if there.Shredded {
		_, err := l.store.DropDocument(ctx, d.Tenant, d.Digest, l.clock.now().Add(time.Hour))
		return nil, err
	}
	if named, err := l.store.NameDocument(ctx, d.Tenant, d.Digest, d.CreatedAt); err != nil || !named {
		return nil, err
	}
	return there, nil
}

func (in *DocumentRequest) check() error {
	switch {
	case len(in.Body) == 0:
		return &Error{Code: CodeInvalidRequest, Op: "add document", Message: "the document is empty"}
	case len(in.Body) > DocumentBytesMax:
		return &Error{Code: CodeTooLarge, Op: "add document", Message: fmt.Sprintf("the document is longer than %d bytes", DocumentBytesMax), Hint: "link it instead"}
	case in.MediaType == SealedMediaType || in.MediaType == SealedDocumentMediaType:
		return &Error{Code: CodeInvalidRequest, Op: "add document", Message: "the media type is one of the ledger's own"}
	case in.MediaType == "" || len(in.MediaType) > MediaTypeBytesMax || !visibleASCII(strings.ReplaceAll(in.MediaType, " ", "")):
		return &Error{Code: CodeInvalidRequest, Op: "add document", Message: "the media type is missing or unreadable", Hint: "send Content-Type"}
	}
	return nil
}

// Document reads a document of the tenant. CodeDocumentNotFound: it has none of
// that content.
func (l *Ledger) Document(ctx context.Context, p Principal, digest Digest) (*Document, error) {
	if err := Authorize(p, ActionReadDocuments); err != nil {
		return nil, err
	}
	d, err := l.store.LoadDocument(ctx, p.Tenant, digest)
	if err == nil && d == nil {
		err = &Error{Code: CodeDocumentNotFound, Op: "load document", Message: "no document has that content", Hint: "upload it at POST /v1/documents"}
	}
	return d, err
}

// withDocuments makes the supporting documents part of a material digest: their
// content, name and place, in order. Without any, the digest stays as it is.
func withDocuments(d Digest, docs []DocumentRef) Digest {
	if len(docs) == 0 {
		return d
	}
	buf := append([]byte("onceward/documents/v1\n"), d[:]...)
	for i := range docs {
		buf = append(buf, docs[i].Digest[:]...)
		buf = appendFramed(appendFramed(buf, docs[i].Name), docs[i].URL)
	}
	return sha256.Sum256(buf)
}

// sameDocument reports whether two references are to the same content under the
// same name.
func sameDocument(a, b DocumentRef) bool {
	return a.Digest == b.Digest && a.Name == b.Name && a.URL == b.URL
}

// documented checks the documents of an intent, fills in what the ledger knows
// of them, and makes them part of the digest.
func (l *Ledger) documented(ctx context.Context, in *Intent, t Tool, p *Prepared) error {
	if len(in.Documents) == 0 {
		return nil
	}
	if len(in.Documents) > DocumentsMax {
		return &Error{Code: CodeTooLarge, Op: "submit", Message: fmt.Sprintf("more than %d documents", DocumentsMax)}
	}
	docs := slices.Clone(in.Documents)
	for i := range docs {
		old, err := l.checkDocument(ctx, in.Principal.Tenant, t.Info(), &docs[i])
		if err != nil {
			return err
		}
		if old {
			p.named = append(p.named, docs[i])
		}
	}
	in.Documents, p.Digest = docs, withDocuments(p.Digest, docs)
	return nil
}

// checkDocument says of an uploaded one whether it is so old that it is to be noted
// that it is named.
func (l *Ledger) checkDocument(ctx context.Context, tenant Tenant, info *ToolInfo, d *DocumentRef) (old bool, err error) {
	wrong := func(format string, args ...any) error {
		return &Error{Code: CodeInvalidRequest, Op: "submit", Message: fmt.Sprintf("document %.40q ", d.Name) + fmt.Sprintf(format, args...)}
	}
	switch {
	case d.Digest.IsZero():
		return false, wrong("has no sha256")
	case d.Name == "" || len(d.Name) > DocumentNameBytesMax:
		return false, wrong("has no name, or one longer than %d bytes", DocumentNameBytesMax)
	case len(d.URL) > DocumentURLBytesMax:
		return false, wrong("has a URL longer than %d bytes", DocumentURLBytesMax)
	}
	if d.URL != "" {
		u, err := url.Parse(d.URL)
		switch {
		case err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
			return false, wrong("has no usable URL")
		case !slices.ContainsFunc(info.Hosts, func(h string) bool { return strings.EqualFold(h, u.Host) || strings.EqualFold(h, u.Hostname()) }):
			return false, wrong("is linked at a host that the contract does not list")
		}
		return false, nil
	}
	there, err := l.store.LoadDocument(ctx, tenant, d.Digest)
	if err != nil {
		return false, fmt.Errorf("load document %s: %w", d.Digest, err)
	}
	if there == nil || there.Shredded {
		return false, notUploaded(d)
	}
	d.MediaType, d.Size = there.MediaType, int64(len(there.Body))
	return l.clock.now().Sub(there.CreatedAt) >= documentNamedAnew, nil
}

func notUploaded(d *DocumentRef) error {
	return &Error{Code: CodeDocumentNotFound, Op: "submit", Message: fmt.Sprintf("document %.40q was not uploaded", d.Name), Hint: "upload it at POST /v1/documents, or give its url"}
}

// linkDeadline bounds the fetch of a linked document.
const linkDeadline = 10 * time.Second

// changedDocument fetches the linked documents again and says of the first that
// is not what the request named; empty: they are as they were. What was fetched
// is kept, so that it can be shown. CodeProviderUnreachable: one cannot be read.
func (l *Ledger) changedDocument(ctx context.Context, op *Operation, t Tool) (string, error) {
	for i := range op.Documents {
		d := &op.Documents[i]
		if d.URL == "" {
			continue
		}
		ev := l.provider.Send(l.detached, &Request{Method: "GET", URL: d.URL}, SendOptions{Deadline: linkDeadline, Hosts: t.Info().Hosts, JudgeBytes: DocumentBytesMax})
		if ev.Status < 200 || ev.Status > 299 || ev.BodyCut || ev.BodyTooBig {
			return "", &Error{Code: CodeProviderUnreachable, Op: "fetch document", OperationID: op.ID, Message: fmt.Sprintf("document %.40q cannot be read where it is linked", d.Name),
				Hint: "look at the document's host, then try again"}
		}
		if is := Digest(sha256.Sum256(ev.Body)); is != d.Digest {
			return fmt.Sprintf("document %q has changed since it was named: its SHA-256 is %s now", Visible(d.Name), is), nil
		}
		// Why look first: a transaction of the caller's may hold the database's one writer (DoIn).
		if there, err := l.store.LoadDocument(ctx, op.Tenant, d.Digest); err != nil || there != nil {
			if err != nil {
				return "", fmt.Errorf("load document %s: %w", d.Digest, err)
			}
			continue
		}
		kept := Document{Tenant: op.Tenant, Digest: d.Digest, MediaType: mediaTypeOf(ev.Header), Body: ev.Body, Actor: l.opts.Owner, CreatedAt: l.clock.now(), Concealed: Concealed{DataKey: op.DataKey}}
		if err := l.store.PutDocument(ctx, kept); err != nil {
			return "", fmt.Errorf("keep document %s: %w", d.Digest, err)
		}
	}
	return "", nil
}

func mediaTypeOf(header []HeaderField) string {
	for _, h := range header {
		if strings.EqualFold(h.Name, "Content-Type") && len(h.Value) <= MediaTypeBytesMax && visibleASCII(strings.ReplaceAll(h.Value, " ", "")) {
			if h.Value != SealedMediaType && h.Value != SealedDocumentMediaType {
				return h.Value
			}
		}
	}
	return "application/octet-stream"
}
