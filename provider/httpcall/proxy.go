package httpcall

import (
	"encoding/base64"
	"net"
	"net/http"

	"github.com/onceward/onceward"
)

// tunnel makes the proxy pass bytes through to the target. Why a tunnel for
// plain http, too: a proxy that forwards requests may send one again by itself.
func (c *Client) tunnel(pc *conn, t *target) *fault {
	p := c.options.Proxy
	if p.Scheme == "https" {
		cfg := c.tls.Clone()
		cfg.ServerName = p.Hostname()
		if f := shake(pc, cfg); f != nil {
			return f
		}
	}
	to := net.JoinHostPort(t.origin.host, t.origin.port)
	b := append(pc.out[:0], "CONNECT "+to+" HTTP/1.1\r\nHost: "+to+"\r\n"...)
	if u := p.User; u != nil {
		password, _ := u.Password()
		b = append(b, "Proxy-Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password))+"\r\n"...)
	}
	b = append(b, "\r\n"...)
	pc.out = nil // it may hold the proxy's credentials
	if _, err := pc.top.Write(b); err != nil {
		return newFault(onceward.ClassConnection, codeProxy)
	}
	pc.headCap = headBytesMax
	resp, err := http.ReadResponse(pc.br, connectRequest) //nolint:bodyclose // what follows the head is the tunnel
	pc.headCap = -1
	if err != nil || resp.StatusCode/100 != 2 || pc.br.Buffered() > 0 {
		return newFault(onceward.ClassConnection, codeProxy)
	}
	return nil
}
