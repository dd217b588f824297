package httpcall_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"testing"

	"github.com/onceward/onceward/provider/httpcall"
)

// noop answers every request that has a body of len(body) as fast as it can.
func noop(b *testing.B) string {
	b.Helper()
	l := listen(b)
	answer := []byte(withBody("Content-Type: application/json\r\n", `{"id":"t1"}`))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				br := bufio.NewReader(c)
				for readRequest(br) {
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// readRequest skips one request with the body of post.
func readRequest(br *bufio.Reader) bool {
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return false
		}
		if len(line) == 2 {
			break
		}
	}
	_, err := br.Discard(len(`{"title":"a"}`))
	return err == nil
}

func parallel(b *testing.B, callers int, send func(b *testing.B)) {
	b.ReportAllocs()
	if callers == 1 {
		for b.Loop() {
			send(b)
		}
		return
	}
	b.SetParallelism(callers / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			send(b)
		}
	})
}

func benchmarkSend(b *testing.B, callers int) {
	addr := noop(b)
	c := newClient(b, httpcall.Options{})
	req := post("http://" + addr + "/tickets")
	opts := write(addr)
	opts.BeforeWrite = func() error { return nil }
	parallel(b, callers, func(b *testing.B) {
		if ev := c.Send(context.Background(), req, opts); ev.Status != 200 {
			b.Errorf("evidence = %s", show(ev))
		}
	})
}

func benchmarkStandard(b *testing.B, callers int) {
	addr := noop(b)
	c := plainClient(b, &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true})
	url, body := "http://"+addr+"/tickets", []byte(`{"title":"a"}`)
	parallel(b, callers, func(b *testing.B) {
		r, err := http.NewRequestWithContext(context.Background(), "POST", url, bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "k1")
		resp, err := c.Do(r)
		if err != nil {
			b.Error(err)
			return
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			b.Error(err)
		}
		_ = resp.Body.Close()
	})
}

func BenchmarkSend1(b *testing.B)      { benchmarkSend(b, 1) }
func BenchmarkStandard1(b *testing.B)  { benchmarkStandard(b, 1) }
func BenchmarkSend64(b *testing.B)     { benchmarkSend(b, 64) }
func BenchmarkStandard64(b *testing.B) { benchmarkStandard(b, 64) }
