package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// Small answers leave their length to net/http: it has to be told all the same.
func TestAnswersTellTheirLength(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n, err := strconv.Atoi(req.URL.RawQuery)
		if err != nil {
			t.Error(err)
		}
		writeJSON(w, http.StatusOK, mediaJSON, strings.Repeat("x", n-len("\"\"\n")))
	}))
	t.Cleanup(srv.Close)
	for _, n := range []int{3, 100, countedBytesMax - 1, countedBytesMax, countedBytesMax + 1, 3 * countedBytesMax} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+"?"+strconv.Itoa(n), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.ContentLength != int64(n) || res.TransferEncoding != nil {
				t.Errorf("%s of %d bytes: length %d, transfer encoding %q", method, n, res.ContentLength, res.TransferEncoding)
			}
		}
	}
}
