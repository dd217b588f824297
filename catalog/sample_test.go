package catalog

import (
	"strings"

	"github.com/onceward/onceward"
)

// sample is what a provider's answers look like: $ID is an effect's name there,
// $KEY the mark that it carries, $ITEMS the effects that a listing shows.
type sample struct {
	input        string
	status       int
	created      string
	headers      string // one "name: value"
	item, list   string // no list: a read of one object, 404 where there is none
	existsStatus int    // how a request is answered whose effect is there; 0: as the first was
	exists       string
}

func (s sample) header(id string) []onceward.HeaderField {
	name, value, ok := strings.Cut(s.headers, ": ")
	if !ok {
		return nil
	}
	return []onceward.HeaderField{{Name: name, Value: strings.ReplaceAll(value, "$ID", id)}}
}

const (
	stripeItem = `{"id":"x_$ID","metadata":{"onceward":"$KEY"}}`
	stripeList = `{"data":[$ITEMS],"has_more":false}`
	mailInput  = `{"event_id":"e1","to":"a@example.com","subject":"Hello","text":"Hi"}`
	ticket     = `"source":"shop","event_id":"e1"`
)

// samples has one for each contract.
var samples = map[string]sample{
	"stripe/payment_intents": {input: `{"order_id":"o1","amount":500,"currency":"eur","customer":"cus_1","payment_method":"pm_1"}`, status: 200, created: stripeItem, item: stripeItem, list: stripeList},
	"stripe/refunds":         {input: `{"refund_id":"r1","payment_intent":"pi_1","amount":500}`, status: 200, created: stripeItem, item: stripeItem, list: stripeList},
	"stripe/customers":       {input: `{"account_id":"a1","email":"a@example.com"}`, status: 200, created: stripeItem, item: stripeItem, list: stripeList},
	"adyen/payments":         {input: `{"order_id":"o1","amount":500,"currency":"EUR","shopper":"s-1","stored_method":"m1"}`, status: 200, created: `{"pspReference":"P$ID","resultCode":"Authorised"}`},
	"adyen/refunds":          {input: `{"refund_id":"r1","payment":"ABCDEFGH1234","amount":500,"currency":"EUR"}`, status: 201, created: `{"pspReference":"P$ID","status":"received"}`},
	"paypal/orders":          {input: `{"basket_id":"b1","value":"5.00","currency":"EUR"}`, status: 201, created: `{"id":"O$ID"}`},
	"paypal/refunds":         {input: `{"refund_id":"r1","capture":"ABCDEFGH1","value":"5.00","currency":"EUR"}`, status: 201, created: `{"id":"R$ID"}`},
	"square/payments":        {input: `{"order_id":"o1","source":"cnon:1","amount":500,"currency":"EUR"}`, status: 200, created: `{"payment":{"id":"S$ID"}}`},
	"square/cancels":         {input: `{"payment_key":"k1"}`, status: 200, created: `{}`},
	"braintree/charges":      {input: `{"order_id":"o1","payment_method":"m1","amount":"5.00"}`, status: 200, created: `{"data":{"chargePaymentMethod":{"transaction":{"id":"B$ID"}}}}`},
	"shopify/refunds":        {input: `{"refund_id":"r1","order":"gid://shopify/Order/1","note":"n","transactions":[{"amount":"5.00"}]}`, status: 200, created: `{"data":{"refundCreate":{"refund":{"id":"F$ID"},"userErrors":[]}}}`},
	"shopify/orders":         {input: `{"basket_id":"b1","line_items":[{"quantity":1}],"currency":"EUR"}`, status: 200, created: `{"data":{"orderCreate":{"order":{"id":"F$ID"},"userErrors":[]}}}`},
	"checkout/payments":      {input: `{"order_id":"o1","instrument":"src_1","amount":500,"currency":"EUR"}`, status: 201, created: `{"id":"pay_$ID","approved":true}`},
	"xero/invoices":          {input: `{"order_id":"o1","contact":"6f2f4b52-40d2-44f8-8a33-4b8b6ba1c5a0","lines":[{"Quantity":1}]}`, status: 200, created: `{"Invoices":[{"InvoiceID":"X$ID"}]}`, item: `{"InvoiceID":"X$ID","Reference":"$KEY"}`, list: `{"Invoices":[$ITEMS]}`},
	"quickbooks/invoices":    {input: `{"order_id":"o1","customer":"7","lines":[{"Amount":5}]}`, status: 200, created: `{"Invoice":{"Id":"$ID"}}`, item: `{"Id":"$ID","DocNumber":"$KEY"}`, list: `{"QueryResponse":{"Invoice":[$ITEMS]}}`},

	"zendesk/tickets":   {input: `{` + ticket + `,"subject":"s","body":"b"}`, status: 201, created: `{"ticket":{"id":$ID}}`, item: `{"id":$ID,"external_id":"$KEY"}`, list: `{"tickets":[$ITEMS]}`},
	"zendesk/deletions": {input: `{"ticket":"7"}`, status: 204, existsStatus: 404, exists: `{}`},
	"freshdesk/tickets": {input: `{` + ticket + `,"email":"a@example.com","subject":"s","body":"b"}`, status: 201, created: `{"id":$ID}`, item: `{"id":$ID,"tags":["$KEY"]}`, list: `{"results":[$ITEMS]}`},
	"jira/issues":       {input: `{` + ticket + `,"project":"OPS","issue_type":"Task","summary":"s"}`, status: 201, created: `{"key":"OPS-$ID"}`, item: `{"key":"OPS-$ID","fields":{"labels":["onceward-$KEY"]}}`, list: `{"issues":[$ITEMS]}`},
	"linear/issues":     {input: `{` + ticket + `,"team":"6f2f4b52-40d2-44f8-8a33-4b8b6ba1c5a0","title":"t"}`, status: 200, created: `{"data":{"issueCreate":{"success":true,"issue":{"id":"$KEY"}}}}`, item: `{"id":"$KEY"}`, list: `{"data":{"issues":{"nodes":[$ITEMS]}}}`},

	"hubspot/contacts":    {input: `{"change_id":"c1","email":"a@example.com","properties":{"city":"Bern"}}`, status: 200, created: `{"results":[{"id":"$ID"}]}`},
	"salesforce/contacts": {input: `{"source":"shop","source_id":"7","last_name":"A"}`, status: 201, created: `{"id":"003$ID"}`, existsStatus: 200, exists: `{"id":"0031001"}`},
	"airtable/records":    {input: `{` + ticket + `,"fields":{"a":1}}`, status: 200, created: `{"records":[{"id":"rec$ID"}],"createdRecords":["rec$ID"]}`},
	"pipedrive/deals":     {input: `{"lead_id":"l1","title":"t"}`, status: 201, created: `{"data":{"id":$ID}}`},
	"notion/pages":        {input: `{"event_id":"e1","title":"t"}`, status: 200, created: `{"id":"n$ID"}`},

	"slack/messages":   {input: `{"event_id":"e1","channel":"C1","text":"hi"}`, status: 200, created: `{"ok":true,"ts":"1.$ID"}`, item: `{"ts":"1.$ID","metadata":{"event_type":"onceward","event_payload":{"key":"$KEY"}}}`, list: `{"ok":true,"has_more":false,"messages":[$ITEMS]}`},
	"slack/deletions":  {input: `{"channel":"C1","ts":"1.2"}`, status: 200, created: `{"ok":true,"ts":"1.2"}`, existsStatus: 200, exists: `{"ok":false,"error":"message_not_found"}`},
	"discord/messages": {input: `{"event_id":"e1","channel":"1","content":"hi"}`, status: 200, created: `{"id":"$ID"}`},
	"matrix/messages":  {input: `{"event_id":"e1","room":"!a:b","text":"hi"}`, status: 200, created: `{"event_id":"$ID"}`},
	"twilio/messages":  {input: `{"event_id":"e1","to":"+41791234567","text":"hi"}`, status: 201, created: `{"sid":"SM$ID"}`},

	"resend/emails":    {input: mailInput, status: 200, created: `{"id":"$ID"}`},
	"postmark/emails":  {input: mailInput, status: 200, created: `{"ErrorCode":0,"MessageID":"$ID"}`, item: `{"MessageID":"$ID","Tag":"$KEY"}`, list: `{"Messages":[$ITEMS]}`},
	"mailgun/messages": {input: mailInput, status: 200, created: `{"id":"<$KEY@main>"}`, item: `{"id":"$ID","message":{"headers":{"message-id":"$KEY@main"}}}`, list: `{"items":[$ITEMS]}`},
	"sendgrid/mails":   {input: mailInput, status: 202, headers: "X-Message-Id: $ID"},
	"gmail/messages":   {input: mailInput, status: 200, created: `{"id":"$ID"}`},
	"graph/mails":      {input: mailInput, status: 202},

	"graph/events":              {input: `{"booking_id":"b1","subject":"s","start":"2026-06-01T10:00:00Z","end":"2026-06-01T11:00:00Z"}`, status: 201, created: `{"id":"$ID"}`, item: `{"id":"$ID"}`, list: `{"value":[$ITEMS]}`},
	"google_calendar/events":    {input: `{"booking_id":"b1","summary":"s","start":"2026-06-01T10:00:00Z","end":"2026-06-01T11:00:00Z"}`, status: 200, created: `{"id":"$KEY"}`, item: `{"id":"$KEY"}`},
	"google_calendar/deletions": {input: `{"event":"abcde"}`, status: 204, existsStatus: 410, exists: `{}`},
	"caldav/events":             {input: `{"booking_id":"b1","day":"20260601","title":"Room, big"}`, status: 201, item: "BEGIN:VEVENT\r\nUID:$KEY\r\n", existsStatus: 412},
	"caldav/deletions":          {input: `{"uid":"00112233445566778899aabbccddeeff"}`, status: 200, existsStatus: 404},

	"github/issues":            {input: `{` + ticket + `,"occurred_at":"2026-01-02T03:00:00Z","repository":"a/b","title":"t"}`, status: 201, created: `{"number":$ID}`, item: `{"number":$ID,"body":"\n\n<!-- onceward $KEY -->"}`, list: `[$ITEMS]`},
	"github/closes":            {input: `{"repository":"a/b","number":"7"}`, status: 200, created: `{"number":7}`},
	"github/comments":          {input: `{"event_id":"e1","occurred_at":"2026-01-02T03:00:00Z","repository":"a/b","number":7,"body":"b"}`, status: 201, created: `{"id":$ID}`, item: `{"id":$ID,"body":"b\n\n<!-- onceward $KEY -->"}`, list: `[$ITEMS]`},
	"github/dispatches":        {input: `{"release_id":"r1","repository":"a/b","workflow":"deploy.yml","ref":"main"}`, status: 204},
	"gitea/issues":             {input: `{` + ticket + `,"repository":"a/b","title":"t"}`, status: 201, created: `{"number":$ID}`, item: `{"number":$ID,"body":"\n\nonceward-$KEY"}`, list: `[$ITEMS]`},
	"gitea/deletions":          {input: `{"repository":"a/b","number":"7"}`, status: 204, existsStatus: 404},
	"kubernetes/jobs":          {input: `{"run_id":"r1","namespace":"n","image":"i","command":["c"]}`, status: 201, created: `{"metadata":{"uid":"u$ID"}}`, item: `{"metadata":{"uid":"u$ID","labels":{"onceward":"$KEY"}}}`, existsStatus: 409, exists: `{"reason":"AlreadyExists"}`},
	"kubernetes/deployments":   {input: `{"release_id":"r1","namespace":"n","name":"web","image":"i"}`, status: 200, created: `{"metadata":{"resourceVersion":"$ID"}}`},
	"kubernetes/job_deletions": {input: `{"namespace":"n","name":"j","uid":"u1"}`, status: 200, created: `{}`, existsStatus: 404, exists: `{}`},
	"contentful/entries":       {input: `{"article_id":"a1","content_type":"post","title":"t"}`, status: 201, created: `{"sys":{"id":"$KEY"}}`, item: `{"sys":{"id":"$KEY"},"fields":{"onceward":{"en-US":"$KEY"}}}`, existsStatus: 409, exists: `{"sys":{"id":"VersionMismatch"}}`},
	"wordpress/posts":          {input: `{"article_id":"a1","title":"t","content":"c"}`, status: 201, created: `{"id":$ID}`, item: `{"id":$ID,"slug":"ow-$KEY"}`, list: `[$ITEMS]`},
	"wordpress/deletions":      {input: `{"post":"7"}`, status: 200, created: `{}`, existsStatus: 410, exists: `{}`},
}
