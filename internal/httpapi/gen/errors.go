package main

import (
	"bytes"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/httpapi"
)

const errorsIntro = `<!-- Made by internal/httpapi/gen from the table of codes; make generate writes it anew. -->
# Error codes

Every refusal and every failure carries one code of this closed list, the same over HTTP, on the command line
and in the library. Programs decide by the code, the three flags and the advice, never by the text.

Over HTTP it is an RFC 9457 problem (` + "`application/problem+json`" + `), ` + "`type`" + ` being ` + "`urn:onceward:problem:<code>`" + `:

| member | meaning |
| --- | --- |
| ` + "`code`" + ` | one of the codes below |
| ` + "`retryable`" + ` | asking again, unchanged and with the same key, may bring another answer |
| ` + "`side_effect_possible`" + ` | the write may have had its effect though nothing proves it |
| ` + "`reconciliation_required`" + ` | somebody has to find out what happened before it is repeated |
| ` + "`advice`" + ` | what to do now, in a sentence that an agent can follow |
| ` + "`decision`" + ` | ` + "`blocked`" + ` for every refusal of a request for an operation |

**It is always safe to ask again with the same key.** Where ` + "`side_effect_possible`" + ` is false, the request did
nothing. With ` + "`operation_failed`" + ` the flags and the advice are those of the operation that comes along.

| code | status | retryable | side effect possible | meaning | advice |
| --- | --- | --- | --- | --- | --- |
`

func errorsPage() []byte {
	var b bytes.Buffer
	b.WriteString(errorsIntro)
	for _, c := range onceward.AllCodes {
		a := c.Advice()
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %s | %s |\n", c, httpapi.Status(c), yes(a.Retryable), yes(a.SideEffectPossible), httpapi.Title(c), a.Sentence)
	}
	return b.Bytes()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
