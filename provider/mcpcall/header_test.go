package mcpcall_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/onceward/onceward/provider/mcpcall"
)

func TestHeadersOfParametersAreMadeOfTheFinalArguments(t *testing.T) {
	t.Parallel()
	var got []string
	d := serve(t, true, func(_ http.ResponseWriter, req *http.Request, _ http.Handler) bool {
		got = append(got, req.Header.Get("Mcp-Param-Text")+"|"+req.Header.Get("Mcp-Name"))
		return false
	})
	d.annotate = true
	c := newClient(t, mcpcall.Server{URL: d.URL})
	for _, text := range []string{"plain", "grün"} {
		ev := c.Send(t.Context(), call("note", `{"text":"`+text+`"}`), write(5*time.Second))
		if ev.Status != 200 {
			t.Errorf("%s: %d %s", text, ev.Status, ev.Body)
		}
	}
	if len(got) != 2 || got[0] != "plain|note" || got[1] != "=?base64?Z3LDvG4=?=|note" {
		t.Errorf("the server was sent %q", got)
	}
}
