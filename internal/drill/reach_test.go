package drill

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestASandboxThatIsNotThereIsTroubleBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(up.Close)
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	strange := httptest.NewTLSServer(http.NotFoundHandler()) // under a certificate that nobody signed
	t.Cleanup(strange.Close)
	for origin, says := range map[string]string{up.URL: "", down.URL: "refused", strange.URL: "certificate"} {
		tool := loadTool(t, strings.ReplaceAll(probedWith, "http://provider.invalid", origin))
		began := time.Now()
		report, err := Run(t.Context(), Options{Subjects: []Subject{{Tool: tool, Input: []byte(`{"id":"1"}`)}}, RunID: "r", Only: []string{"rate-limited"}, Launch: noServer, Ledger: noLedger})
		switch {
		case says == "" && (err != nil || report.Rows[0].Verdict != Trouble || report.Rows[0].Writes != 0):
			t.Errorf("%s: %v", origin, err)
		case says != "" && (report != nil || err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "nothing was written")):
			t.Errorf("%s: %v", origin, err)
		case time.Since(began) > reachWithin:
			t.Errorf("%s: it took %s", origin, time.Since(began))
		}
	}
}
