package httpapi

import (
	"io"
	"net/http"
	"strconv"

	"github.com/onceward/onceward"
)

// DocumentRef names a document that supports a request.
type DocumentRef struct {
	SHA256 string  `json:"sha256" doc:"Of its bytes, in lower-case hexadecimal."`
	Name   string  `json:"name" max:"label"`
	URL    *string `json:"url,omitempty" max:"reference" doc:"Where it is, at a host of the contract; absent: it was uploaded. A linked document that changes before the first attempt voids the approval."`
}

// DocumentAnswer names an uploaded document.
type DocumentAnswer struct {
	SHA256    string `json:"sha256"`
	MediaType string `json:"media_type"`
	Size      int    `json:"size" doc:"In bytes."`
	SubjectID string `json:"subject_id,omitempty" doc:"Whose data it is, by the ledger's name of that subject."`
}

// subjectHeader names whose data an uploaded document is. Why a header: an
// address is written into logs.
const subjectHeader = "Onceward-Subject"

// rawBytes stands for a body of any media type.
type rawBytes struct{}

func documentsOf(in []DocumentRef) ([]onceward.DocumentRef, error) {
	if len(in) == 0 {
		return nil, nil
	}
	docs := make([]onceward.DocumentRef, len(in))
	for i, d := range in {
		digest, err := onceward.ParseDigest(d.SHA256)
		if err != nil {
			return nil, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "documents[" + strconv.Itoa(i) + "].sha256 is not 64 lower-case hexadecimal characters"}
		}
		docs[i] = onceward.DocumentRef{Digest: digest, Name: d.Name, URL: text(d.URL)}
	}
	return docs, nil
}

// documents shows what supports a request.
func documents(docs []onceward.DocumentRef) []DocumentRef {
	if len(docs) == 0 {
		return nil
	}
	out := make([]DocumentRef, len(docs))
	for i := range docs {
		out[i] = DocumentRef{SHA256: docs[i].Digest.String(), Name: docs[i].Name}
		if docs[i].URL != "" {
			out[i].URL = &docs[i].URL
		}
	}
	return out
}

// addDocument is POST /v1/documents.
func addDocument(c *call) error {
	if c.req.ContentLength > onceward.DocumentBytesMax {
		return bodyTooLarge(onceward.DocumentBytesMax)
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.req.Body, onceward.DocumentBytesMax))
	if err != nil {
		return bodyError(err, onceward.DocumentBytesMax)
	}
	d, err := c.ledger.AddDocument(c.req.Context(), onceward.DocumentRequest{Principal: c.who, MediaType: c.req.Header.Get("Content-Type"), Body: body, Subject: c.req.Header.Get(subjectHeader)})
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusCreated, mediaJSON, &DocumentAnswer{SHA256: d.Digest.String(), MediaType: d.MediaType, Size: len(d.Body), SubjectID: string(d.Subject)})
	return nil
}

// getDocument is GET /v1/documents/{sha256}. What it answers with is somebody's
// upload: it is never shown as a page of ours.
func getDocument(c *call) error {
	digest, err := onceward.ParseDigest(c.req.PathValue("sha256"))
	if err != nil {
		return err
	}
	d, err := c.ledger.Document(c.req.Context(), c.who, digest)
	if err != nil {
		return err
	}
	if d.Shredded {
		return &onceward.Error{Code: onceward.CodeShredded, Op: "read document", Message: "the document was shredded"}
	}
	h := c.w.Header()
	h["Content-Type"] = []string{d.MediaType}
	h["Content-Disposition"] = []string{"attachment"}
	h["Content-Security-Policy"] = []string{"default-src 'none'; sandbox"}
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	h["Content-Length"] = []string{strconv.Itoa(len(d.Body))}
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(d.Body) // a caller that went away gets no answer
	return nil
}
