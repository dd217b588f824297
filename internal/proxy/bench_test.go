package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkExchange compares a read that passes and a write that becomes an
// operation with the same exchange without us, one at a time.
func BenchmarkExchange(b *testing.B) {
	w := newWorld(b, setting{})
	direct := "http://" + w.Listener.Addr().String()
	n := 0
	for name, one := range map[string]func() (*http.Request, error){
		"read/direct": func() (*http.Request, error) { return http.NewRequest("GET", direct+"/v1/orders", nil) },
		"read/proxy":  func() (*http.Request, error) { return http.NewRequest("GET", w.URL+"/v1/orders", nil) },
		"write/proxy": func() (*http.Request, error) {
			n++
			req, err := http.NewRequest("POST", w.URL+"/v1/orders", strings.NewReader(fmt.Sprintf(`{"meta":{"order":"%d"},"cents":4200}`, n)))
			if err == nil {
				req.Header.Set("Content-Type", "application/json")
			}
			return req, err
		},
		"replay/proxy": func() (*http.Request, error) {
			req, err := http.NewRequest("POST", w.URL+"/v1/orders", strings.NewReader(`{"meta":{"order":"same"},"cents":4200}`))
			if err == nil {
				req.Header.Set("Content-Type", "application/json")
			}
			return req, err
		},
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				req, err := one()
				if err != nil {
					b.Fatal(err)
				}
				begun := time.Now()
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				took = append(took, time.Since(begun))
				if res.StatusCode/100 != 2 {
					b.Fatal(res.Status)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
