package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// operationView is what the commands read of an operation.
type operationView struct {
	ID              string        `json:"id"`
	Tool            string        `json:"tool"`
	Key             string        `json:"key"`
	Run             string        `json:"run"`
	Decision        *chainView    `json:"decision"`
	State           string        `json:"state"`
	Approval        *approvalView `json:"approval"`
	Attempts        int           `json:"attempts"`
	OpenAttempts    int           `json:"open_attempts"`
	ProviderKey     string        `json:"provider_key"`
	Reference       string        `json:"reference"`
	CancelRequested bool          `json:"cancel_requested"`
	Parked          string        `json:"parked"`
	BlockedBy       string        `json:"blocked_by"`
	Retired         bool          `json:"retired"`
	CreatedAt       time.Time     `json:"created_at"`
	DueAt           *time.Time    `json:"due_at"`
	ReviewReason    string        `json:"review_reason"`
	Error           *failureView  `json:"error"`
	Result          *resultView   `json:"result"`
	AttemptList     []attemptView `json:"attempt_list"`
	Events          []eventView   `json:"events"`
}

// chainView is the decision that led to an operation.
type chainView struct {
	ID            string          `json:"id"`
	Version       int             `json:"version"`
	Step          string          `json:"step"`
	InputDigest   string          `json:"input_digest"`
	Model         string          `json:"model"`
	PromptVersion string          `json:"prompt_version"`
	Output        json.RawMessage `json:"output"`
	RuleVersion   string          `json:"rule_version"`
	Rule          string          `json:"rule"`
	Branch        string          `json:"branch"`
	EditedBy      string          `json:"edited_by"`
	EditedFields  []string        `json:"edited_fields"`
}

// approvalView is what people said to an operation.
type approvalView struct {
	State    string   `json:"state"`
	Quorum   int      `json:"quorum"`
	Rejected string   `json:"rejected_by"`
	EditedBy string   `json:"edited_by"`
	Edited   []string `json:"edited_fields"`
	Yeses    []struct {
		Actor string    `json:"actor"`
		At    time.Time `json:"at"`
	} `json:"yeses"`
}

// print tells who was asked, who changed the input, and who answered.
func (v *approvalView) print(w io.Writer) {
	printLine(w, "approval", fmt.Sprintf("%s, %d of %d", v.State, len(v.Yeses), v.Quorum))
	for _, y := range v.Yeses {
		printLine(w, "  yes", y.Actor+", "+stamp(y.At))
	}
	printLine(w, "  no", v.Rejected)
	if v.EditedBy != "" {
		printLine(w, "edited by", editedBy(v.EditedBy, v.Edited))
	}
}

// editedBy says who changed which fields.
func editedBy(who string, fields []string) string {
	if len(fields) == 0 {
		return who
	}
	return who + ": " + strings.Join(fields, ", ")
}

// print tells the chain from the step's input to the branch.
func (v *chainView) print(w io.Writer) {
	printLine(w, "decided by", fmt.Sprintf("%s version %d, step %s", v.ID, v.Version, v.Step))
	printLine(w, "  input", v.InputDigest)
	printLine(w, "  model", strings.TrimSpace(v.Model+" "+v.PromptVersion))
	printLine(w, "  fields", string(v.Output))
	printLine(w, "  rules", strings.TrimSpace(v.RuleVersion+" "+v.Rule))
	printLine(w, "  branch", v.Branch)
	if v.EditedBy != "" {
		printLine(w, "  but", "the input differs from the decision: edited by "+editedBy(v.EditedBy, v.EditedFields))
	}
}

type failureView struct {
	Class, Code, Message, Advice string
}

func (f *failureView) text() string {
	return strings.Join(strings.Fields(f.Class+" "+f.Code+": "+f.Message), " ")
}

type resultView struct {
	Status     int             `json:"status"`
	Body       json.RawMessage `json:"body"`
	BodyBase64 string          `json:"body_base64"`
	BodyKept   bool            `json:"body_kept"`
}

func (r *resultView) text() string {
	words := []string{}
	if r.Status > 0 {
		words = append(words, strconv.Itoa(r.Status))
	}
	switch {
	case !r.BodyKept:
		words = append(words, "(its body is not kept)")
	case r.BodyBase64 != "":
		words = append(words, "(its body is neither JSON nor text; --json shows it in base64)")
	case len(r.Body) > 0:
		words = append(words, string(r.Body))
	}
	return strings.Join(words, " ")
}

type attemptView struct {
	Number     int          `json:"number"`
	Status     string       `json:"status"`
	Owner      string       `json:"owner"`
	Resend     bool         `json:"resend"`
	Reach      string       `json:"reach"`
	Reference  string       `json:"reference"`
	Handle     string       `json:"handle"`
	Error      *failureView `json:"error"`
	StartedAt  time.Time    `json:"started_at"`
	LeaseUntil time.Time    `json:"lease_until"`
	EndedAt    time.Time    `json:"ended_at"`
	LastByteAt time.Time    `json:"last_byte_at"`
	SettledBy  string       `json:"settled_by"`
}

type eventView struct {
	At        time.Time     `json:"at"`
	Event     string        `json:"event"`
	From      string        `json:"from"`
	To        string        `json:"to"`
	Attempt   int           `json:"attempt"`
	Actor     string        `json:"actor"`
	Reason    string        `json:"reason"`
	Reference string        `json:"reference"`
	Evidence  *evidenceView `json:"evidence"`
}

type evidenceView struct {
	Status     int             `json:"status"`
	Body       json.RawMessage `json:"body"`
	BodyBase64 string          `json:"body_base64"`
	BodyCut    bool            `json:"body_cut"`
	BodyTooBig bool            `json:"body_too_big"`
	ErrorClass string          `json:"error_class"`
	ErrorCode  string          `json:"error_code"`
	ErrorText  string          `json:"error_text"`
	RemoteAddr string          `json:"remote_addr"`
}

type answerView struct {
	Operation operationView `json:"operation"`
	Decision  string        `json:"decision"`
	Advice    string        `json:"advice"`
}

// printLine prints a name and its value, if there is one.
func printLine(w io.Writer, name, value string) {
	if value != "" {
		fmt.Fprintf(w, "%-12s %s\n", name, visible(value))
	}
}

// visible shows a text that came from elsewhere on one line, without what would
// steer a terminal or hide in it.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return onceward.Hidden(r) || r == '\n' || r == '\t' }

// printOperation prints what is known of an operation in a few lines.
func printOperation(w io.Writer, a answerView) {
	o := a.Operation
	printLine(w, "operation", o.ID)
	printLine(w, "tool", o.Tool)
	printLine(w, "key", o.Key)
	printLine(w, "state", o.State)
	printLine(w, "decision", a.Decision)
	printLine(w, "run", o.Run)
	if o.Decision != nil && o.Decision.Step != "" { // told whole only where one operation is read
		o.Decision.print(w)
	}
	if o.Approval != nil {
		o.Approval.print(w)
	}
	printLine(w, "reference", o.Reference)
	switch {
	case o.Retired:
		printLine(w, "retired", "yes: input, result and attempts are gone, only the tombstone is left")
	case o.OpenAttempts == 0:
		printLine(w, "attempts", strconv.Itoa(o.Attempts))
	default:
		printLine(w, "attempts", fmt.Sprintf("%d, of which %d may have had an effect", o.Attempts, o.OpenAttempts))
	}
	printLine(w, "parked", o.Parked)
	if o.BlockedBy != "" {
		printLine(w, "blocked by", "operation "+o.BlockedBy+", which holds the same resource until its end")
	}
	if o.CancelRequested {
		printLine(w, "cancel", "requested")
	}
	printLine(w, "review", o.ReviewReason)
	if o.DueAt != nil {
		printLine(w, "due", stamp(*o.DueAt))
	}
	if o.Result != nil {
		printLine(w, "result", o.Result.text())
	}
	advice := a.Advice
	if o.Error != nil {
		printLine(w, "error", o.Error.text())
		advice = o.Error.Advice
	}
	printLine(w, "advice", advice)
}

// stamp is a time for people.
func stamp(t time.Time) string { return t.Local().Format(time.DateTime) }
